package kubetest

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"time"
)

const (
	annotationsMax = 256 << 10
	valuesMax      = 1 << 20
	nameMax        = 253
)

// subdomain is what names of objects look like.
var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// valid finds what is wrong with an object.
func valid(k key, o object) *failure {
	if !subdomain.MatchString(k.name) || len(k.name) > nameMax {
		return invalid(k,
			fmt.Sprintf("metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of "+
				"lower case alphanumeric characters, '-' or '.'", k.name))
	}
	annotations, _ := metaOf(o)["annotations"].(object)
	size := 0
	for name := range annotations {
		size += len(name) + len(text(annotations, name))
	}
	if size > annotationsMax {
		return invalid(k, "metadata.annotations: Too long: may not be more than 262144 bytes")
	}
	switch k.resource {
	case "leases":
		return validLease(k, o)
	case "configmaps":
		return validMap(k, o)
	}
	return nil
}

func validLease(k key, o object) *failure {
	spec, _ := o["spec"].(object)
	if n, set := spec["leaseDurationSeconds"].(float64); set && n <= 0 {
		return invalid(k, fmt.Sprintf("spec.leaseDurationSeconds: Invalid value: %v: must be greater than 0", n))
	}
	if n, set := spec["leaseTransitions"].(float64); set && n < 0 {
		return invalid(k, fmt.Sprintf("spec.leaseTransitions: Invalid value: %v: must be greater than or equal to 0",
			n))
	}
	for _, field := range []string{"renewTime", "acquireTime"} {
		if s := text(spec, field); s != "" {
			if _, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", s); err != nil {
				return &failure{code: 400, reason: "BadRequest", key: k, message: "spec." + field + ": " + err.Error()}
			}
		}
	}
	return nil
}

func validMap(k key, o object) *failure {
	size := 0
	data, _ := o["data"].(object)
	for name := range data {
		size += len(text(data, name))
	}
	binary, _ := o["binaryData"].(object)
	for name := range binary {
		b, err := base64.StdEncoding.DecodeString(text(binary, name))
		if err != nil {
			return &failure{code: 400, reason: "BadRequest", key: k, message: "binaryData." + name + ": " + err.Error()}
		}
		size += len(b)
	}
	if size > valuesMax {
		return invalid(k, "[]: Too long: may not be more than 1048576 bytes")
	}
	return nil
}
