package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// metadata is what objects are called.
type metadata struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace"`
	Labels    map[string]string `yaml:"labels"`
}

// together reports whether objects can be in one namespace. Those without one are where kubectl is told.
func (m metadata) together(other metadata) bool {
	return m.Namespace == "" || other.Namespace == "" || m.Namespace == other.Namespace
}

// selector selects pods by their labels. An empty one selects all.
type selector struct {
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []struct {
		Key      string   `yaml:"key"`
		Operator string   `yaml:"operator"`
		Values   []string `yaml:"values"`
	} `yaml:"matchExpressions"`
}

// selects reports whether it selects pods with these labels.
func (s selector) selects(labels map[string]string) bool {
	for _, e := range s.MatchExpressions {
		value, has := labels[e.Key]
		among := has && slices.Contains(e.Values, value)
		if is, known := map[string]bool{
			"In": among, "NotIn": !among, "Exists": has, "DoesNotExist": !has,
		}[e.Operator]; !known || !is {
			return false
		}
	}
	return contains(labels, s.MatchLabels)
}

func contains(all, some map[string]string) bool {
	for name, value := range some { // order: all must be there
		if all[name] != value {
			return false
		}
	}
	return true
}

// workload is a StatefulSet or a Deployment.
type workload struct {
	Kind     string   `yaml:"kind"`
	Metadata metadata `yaml:"metadata"`
	Spec     struct {
		Replicas            *int     `yaml:"replicas"`
		ServiceName         string   `yaml:"serviceName"`
		PodManagementPolicy string   `yaml:"podManagementPolicy"`
		Selector            selector `yaml:"selector"`
		UpdateStrategy      struct {
			Type string `yaml:"type"`
		} `yaml:"updateStrategy"`
		Strategy struct {
			Type          string `yaml:"type"`
			RollingUpdate struct {
				MaxSurge       string `yaml:"maxSurge"`
				MaxUnavailable string `yaml:"maxUnavailable"`
			} `yaml:"rollingUpdate"`
		} `yaml:"strategy"`
		Template struct {
			Metadata metadata `yaml:"metadata"`
			Spec     podSpec  `yaml:"spec"`
		} `yaml:"template"`
		VolumeClaimTemplates []claim `yaml:"volumeClaimTemplates"`
	} `yaml:"spec"`
}

// claim is a volume that each pod gets for itself.
type claim struct {
	Metadata metadata `yaml:"metadata"`
}

// podSpec is what runs in a pod.
type podSpec struct {
	ServiceAccountName            string      `yaml:"serviceAccountName"`
	AutomountServiceAccountToken  *bool       `yaml:"automountServiceAccountToken"`
	TerminationGracePeriodSeconds *int        `yaml:"terminationGracePeriodSeconds"`
	Containers                    []container `yaml:"containers"`
	TopologySpreadConstraints     []yaml.Node `yaml:"topologySpreadConstraints"`
	Affinity                      struct {
		PodAntiAffinity yaml.Node `yaml:"podAntiAffinity"`
	} `yaml:"affinity"`
	Volumes []volume `yaml:"volumes"`
}

// volume is one of a pod.
type volume struct {
	Name                  string `yaml:"name"`
	PersistentVolumeClaim struct {
		ClaimName string `yaml:"claimName"`
	} `yaml:"persistentVolumeClaim"`
	EmptyDir *struct {
		Medium string `yaml:"medium"`
	} `yaml:"emptyDir"`
	Secret    *yaml.Node `yaml:"secret"`
	ConfigMap *yaml.Node `yaml:"configMap"`
	Projected *yaml.Node `yaml:"projected"`
}

// renewed reports whether the kubelet replaces the files when their objects change.
func (v volume) renewed() bool { return v.Secret != nil || v.ConfigMap != nil || v.Projected != nil }

// container is one container of a pod.
type container struct {
	Ports []containerPort `yaml:"ports"`
	Env   []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	Resources struct {
		Limits map[string]string `yaml:"limits"`
	} `yaml:"resources"`
	SecurityContext struct {
		ReadOnlyRootFilesystem bool `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
	LivenessProbe  *probe `yaml:"livenessProbe"`
	ReadinessProbe *probe `yaml:"readinessProbe"`
	Lifecycle      struct {
		PreStop *struct {
			HTTPGet request `yaml:"httpGet"`
			Sleep   struct {
				Seconds int `yaml:"seconds"`
			} `yaml:"sleep"`
		} `yaml:"preStop"`
	} `yaml:"lifecycle"`
	VolumeMounts []mount `yaml:"volumeMounts"`
}

// containerPort is a port of a container.
type containerPort struct {
	Name          string `yaml:"name"`
	ContainerPort int    `yaml:"containerPort"`
}

// mount is where a container has a volume.
type mount struct {
	Name      string `yaml:"name"`
	MountPath string `yaml:"mountPath"`
	SubPath   string `yaml:"subPath"`
}

// variable returns the value of a variable of the environment. It has none that comes from elsewhere.
func (c container) variable(name string) (value string, has bool) {
	for _, e := range c.Env {
		if e.Name == name && name != "" {
			value, has = e.Value, e.Value != ""
		}
	}
	return value, has
}

// request is what the kubelet asks of a container.
type request struct {
	Path string `yaml:"path"`
	Port string `yaml:"port"`
}

// probe is a probe of a container.
type probe struct {
	HTTPGet          request `yaml:"httpGet"`
	PeriodSeconds    int     `yaml:"periodSeconds"`
	FailureThreshold int     `yaml:"failureThreshold"`
}

// failsAfter returns after how many seconds of failures a probe has failed.
func (p *probe) failsAfter() int {
	const periodDefault, thresholdDefault = 10, 3
	period, threshold := p.PeriodSeconds, p.FailureThreshold
	if period == 0 {
		period = periodDefault
	}
	if threshold == 0 {
		threshold = thresholdDefault
	}
	return period * threshold
}

// service is a Service.
type service struct {
	Metadata metadata `yaml:"metadata"`
	Spec     struct {
		ClusterIP                string            `yaml:"clusterIP"`
		PublishNotReadyAddresses bool              `yaml:"publishNotReadyAddresses"`
		Selector                 map[string]string `yaml:"selector"`
		Ports                    []struct {
			Name       string `yaml:"name"`
			TargetPort string `yaml:"targetPort"`
		} `yaml:"ports"`
	} `yaml:"spec"`
}

func (s service) headless() bool { return s.Spec.ClusterIP == "None" }

// budget is a PodDisruptionBudget.
type budget struct {
	Metadata metadata `yaml:"metadata"`
	Spec     struct {
		MinAvailable   *string   `yaml:"minAvailable"`
		MaxUnavailable *string   `yaml:"maxUnavailable"`
		Selector       *selector `yaml:"selector"` // nil selects nothing
	} `yaml:"spec"`
}

// objects are those of some manifests.
type objects struct {
	workloads []workload
	services  []service
	budgets   []budget
	policies  []policy
	accounts  []account
	roles     []role
	bindings  []binding
}

// parse reads the objects of a file.
func (o *objects) parse(text []byte) error {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var d yaml.Node
		if err := documents.Decode(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := o.take(&d); err != nil {
			return err
		}
	}
}

// take reads one object.
func (o *objects) take(d *yaml.Node) error {
	var kind struct {
		Kind  string      `yaml:"kind"`
		Items []yaml.Node `yaml:"items"`
	}
	if err := d.Decode(&kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "StatefulSet", "Deployment":
		return decode(d, &o.workloads)
	case "Service":
		return decode(d, &o.services)
	case "PodDisruptionBudget":
		return decode(d, &o.budgets)
	case "NetworkPolicy":
		return decode(d, &o.policies)
	case "ServiceAccount":
		return decode(d, &o.accounts)
	case "Role", "ClusterRole":
		return decode(d, &o.roles)
	case "RoleBinding", "ClusterRoleBinding":
		return decode(d, &o.bindings)
	case "List":
		for i := range kind.Items {
			if err := o.take(&kind.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func decode[T any](d *yaml.Node, all *[]T) error {
	var one T
	if err := d.Decode(&one); err != nil {
		return err
	}
	*all = append(*all, one)
	return nil
}

// suffixes are those of quantities of memory.
var suffixes = []struct {
	text string
	unit float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"m", 1e-3}, {"", 1},
}

// quantity reads a quantity of Kubernetes, or GOMEMLIMIT.
func quantity(text string) (float64, error) {
	for _, s := range suffixes {
		number, is := strings.CutSuffix(text, s.text)
		if n, err := strconv.ParseFloat(number, 64); is && err == nil {
			return n * s.unit, nil
		}
	}
	return 0, fmt.Errorf("%q is no quantity", text)
}

// part reads a number of pods, or a part of them in percent. The default stands for an empty text.
func part(text string, of int, def string, up bool) (int, error) {
	if text == "" {
		text = def
	}
	percent, is := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(percent)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a number of pods nor a part of them", text)
	}
	const all = 100
	switch {
	case is && up:
		return (n*of + all - 1) / all, nil
	case is:
		return n * of / all, nil
	}
	return n, nil
}
