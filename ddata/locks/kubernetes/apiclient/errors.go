package apiclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Call names a call of the API server.
type Call struct {
	Verb      string // as in the rules of RBAC
	Resource  string
	Group     string // "" is the core group
	Namespace string
	Name      string // of the object; "" of a list
}

// String prints the call as kubectl would name it.
func (c Call) String() string {
	s := c.Verb + " " + c.Resource
	if c.Group != "" {
		s += "." + c.Group
	}
	if c.Name != "" {
		s += " " + c.Name
	}
	return s + " in namespace " + c.Namespace
}

// Error is a call that has failed.
type Error struct {
	Call Call
	Err  error
}

// Error names the call.
func (e *Error) Error() string { return e.Call.String() + ": " + e.Err.Error() }

// Unwrap returns why the call has failed.
func (e *Error) Unwrap() error { return e.Err }

// NotFound reports whether there is no such object.
func NotFound(err error) bool { return apierrors.IsNotFound(err) }

// Conflict reports whether the object is not, or not any more, as the caller thought: an update whose
// resourceVersion or UID is not that of the server, or a creation of what is there.
func Conflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// Refused reports whether the server has said that a call has no effect. Every other error leaves that open.
func Refused(err error) bool {
	code := Status(err)
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// Status returns the code of an answer of the server: 0 if there was none.
func Status(err error) int {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return int(s.Status().Code)
	}
	return 0
}

// RetryAfter returns how long the server asks to wait before the next call: 0 if it does not ask.
func RetryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

const (
	remedyReach = "see that the API server runs, that its address in the client's configuration is right, and that " +
		"a NetworkPolicy lets this pod reach it"
	remedyTLS = "see that the client's configuration has the authority of the API server's certificate, and the " +
		"name that the certificate carries"
	remedyAccount = "give the pod a service account with a token (automountServiceAccountToken), or correct the " +
		"credentials of the client's configuration"
	remedyThrottled = "make fewer calls, with fewer leases or longer ones, or have a FlowSchema of API Priority and " +
		"Fairness give this account more room"
	remedyServer = "see the API server's log, and that it reaches its etcd"
)

// Explain says in words what an error means and what to do.
func Explain(err error) (detail, remedy string) {
	var failed *Error
	if !errors.As(err, &failed) {
		return "", ""
	}
	switch code := Status(err); {
	case code != 0:
		return failed.explainStatus(code)
	case errors.Is(err, context.Canceled):
		return "the call was given up, and may still have an effect", ""
	case isTLS(err):
		return "the client and the API server have not agreed on TLS", remedyTLS
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return "the API server has not answered in time", remedyReach
	}
	return "the API server cannot be reached", remedyReach
}

func (e *Error) explainStatus(code int) (detail, remedy string) {
	c := e.Call
	switch {
	case code == http.StatusUnauthorized:
		return "the API server does not know this account", remedyAccount
	case apierrors.HasStatusCause(e, corev1.NamespaceTerminatingCause):
		return "the namespace " + c.Namespace + " is being removed", "use a namespace that stays"
	case code == http.StatusForbidden:
		return fmt.Sprintf("the account may not %s %s in the namespace %s", c.Verb, c.Resource, c.Namespace),
			fmt.Sprintf("grant it by a Role and a RoleBinding: apiGroups: [%q], resources: [%q], verbs: [%q]",
				c.Group, c.Resource, c.Verb)
	case code == http.StatusNotFound && c.Verb == "create":
		return "there is no namespace " + c.Namespace, "make it, or correct the namespace of the configuration"
	case code == http.StatusNotFound:
		return "there is no such object, or the API server does not serve " + c.Resource,
			"leave the objects of the store alone while nodes run"
	case code == http.StatusConflict:
		return "something else has changed the object", "leave the objects of the store alone while nodes run"
	case code == http.StatusTooManyRequests:
		return fmt.Sprintf("the API server has too many requests, and asks to wait %v", RetryAfter(e)), remedyThrottled
	case code == http.StatusUnprocessableEntity || code == http.StatusBadRequest:
		return "the API server does not accept the object", "see whether an admission webhook or a policy of the " +
			"cluster refuses or changes it"
	case code >= http.StatusInternalServerError:
		return "the API server has failed", remedyServer
	}
	return "the API server has refused the call", remedyServer
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// isTLS reports whether a connection has failed because of certificates, or because only one side uses TLS.
func isTLS(err error) bool {
	for _, text := range []string{"tls: ", "x509: ", "HTTP response to HTTPS client",
		"HTTP request to an HTTPS server"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
