package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rule is what an account may do.
type Rule struct {
	Group     string // "" is the core group
	Resources []string
	Verbs     []string
}

// Grant has the server know a token, and lets it do what rules say. From then on no other client may do
// anything, but those with tokens.
func (s *Server) Grant(token string, rules ...Rule) {
	s.state.edit(func() {
		if s.state.grants == nil {
			s.state.grants = map[string][]Rule{}
		}
		s.state.grants[token] = rules
	})
}

// groups are the resources that the server has, with their groups and kinds.
var groups = map[string]struct{ group, kind string }{
	"leases": {"coordination.k8s.io", "Lease"}, "configmaps": {"", "ConfigMap"}, "pods": {"", "Pod"},
}

func (k key) qualified() string {
	if g := groups[k.resource].group; g != "" {
		return k.resource + "." + g
	}
	return k.resource
}

func (k key) apiVersion() string {
	if g := groups[k.resource].group; g != "" {
		return g + "/v1"
	}
	return "v1"
}

// failure is an answer that says what is wrong.
type failure struct {
	code            int
	reason, message string
	key             key
	wait            time.Duration
}

func notFound(k key) *failure {
	return &failure{code: http.StatusNotFound, reason: "NotFound", key: k,
		message: fmt.Sprintf("%s %q not found", k.qualified(), k.name)}
}

func conflict(k key, why string) *failure {
	return &failure{code: http.StatusConflict, reason: "Conflict", key: k,
		message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", k.qualified(), k.name, why)}
}

func invalid(k key, why string) *failure {
	return &failure{code: http.StatusUnprocessableEntity, reason: "Invalid", key: k,
		message: fmt.Sprintf("%s %q is invalid: %s", k.qualified(), k.name, why)}
}

func throttled(wait time.Duration) *failure {
	return &failure{code: http.StatusTooManyRequests, reason: "TooManyRequests", wait: wait,
		message: "The server has received too many requests and has asked us to try again later"}
}

func (f *failure) write(w http.ResponseWriter) {
	seconds := int(f.wait / time.Second)
	if seconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	write(w, f.code, object{
		"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "message": f.message,
		"reason": f.reason, "code": f.code, "details": object{
			"name": f.key.name, "group": groups[f.key.resource].group, "kind": f.key.resource,
			"retryAfterSeconds": seconds,
		},
	})
}

func write(w http.ResponseWriter, code int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o) // the client may have gone
}

// requestMax bounds the body of a request.
const requestMax = 3 << 20

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, requestMax+1))
	if err != nil || !s.await(r.Context()) {
		return
	}
	f := s.overload()
	k, ok := parse(r.URL.Path)
	switch {
	case f != nil:
	case !ok:
		f = &failure{code: http.StatusNotFound, reason: "NotFound",
			message: "the server could not find the requested resource"}
	default:
		f = s.state.authorize(r, k)
	}
	if f == nil && len(body) > requestMax {
		f = &failure{code: http.StatusRequestEntityTooLarge, reason: "RequestEntityTooLarge", key: k,
			message: fmt.Sprintf("Request entity too large: limit is %d", requestMax)}
	}
	var o object
	code := http.StatusOK
	if f == nil {
		o, code, f = s.state.do(r, k, body)
	}
	if f != nil {
		f.write(w)
		return
	}
	o["kind"], o["apiVersion"] = groups[k.resource].kind, k.apiVersion()
	if r.Method == http.MethodGet && k.name == "" {
		o["kind"] = groups[k.resource].kind + "List"
	}
	write(w, code, o)
}

// parse reads the path of an object, or of all objects of a resource.
func parse(path string) (k key, ok bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api" && parts[1] == "v1":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis" && parts[2] == "v1":
		group, parts = parts[1], parts[3:]
	default:
		return k, false
	}
	if len(parts) < 3 || len(parts) > 4 || parts[0] != "namespaces" {
		return k, false
	}
	k = key{resource: parts[2], namespace: parts[1]}
	if len(parts) == 4 {
		k.name = parts[3]
	}
	has, ok := groups[k.resource]
	return k, ok && has.group == group
}

// do carries a request out.
func (s *state) do(r *http.Request, k key, body []byte) (o object, code int, f *failure) {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && k.name != "":
		o, f = s.get(k)
		return o, http.StatusOK, f
	case r.Method == http.MethodGet:
		limit, _ := strconv.Atoi(q.Get("limit"))
		page, more, f := s.list(k.resource, k.namespace, q.Get("labelSelector"), limit, q.Get("continue"))
		return object{"metadata": object{"continue": more}, "items": page}, http.StatusOK, f
	case r.Method == http.MethodDelete:
		o, f = s.remove(k)
		return o, http.StatusOK, f
	}
	if err := json.Unmarshal(body, &o); err != nil || o == nil {
		return nil, 0, &failure{code: http.StatusBadRequest, reason: "BadRequest", key: k, message: "no object in JSON"}
	}
	delete(o, "kind")
	delete(o, "apiVersion")
	name := text(metaOf(o), "name")
	switch {
	case r.Method == http.MethodPost && k.name == "":
		k.name = name
		o, f = s.create(k, o)
		return o, http.StatusCreated, f
	case r.Method == http.MethodPut && k.name != name:
		return nil, 0, &failure{code: http.StatusBadRequest, reason: "BadRequest", key: k, message: fmt.Sprintf(
			"the name of the object (%s) does not match the name on the URL (%s)", name, k.name)}
	case r.Method == http.MethodPut:
		return s.update(k, o)
	}
	return nil, 0, &failure{code: http.StatusMethodNotAllowed, reason: "MethodNotAllowed", key: k,
		message: "the server does not allow this method on the requested resource"}
}

// authorize looks whether the account of a request may make it.
func (s *state) authorize(r *http.Request, k key) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grants == nil {
		return nil
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	rules, known := s.grants[token]
	if !known {
		return &failure{code: http.StatusUnauthorized, reason: "Unauthorized", message: "Unauthorized"}
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodGet: "get",
		http.MethodDelete: "delete"}[r.Method]
	if verb == "get" && k.name == "" {
		verb = "list"
	}
	group := groups[k.resource].group
	for _, rule := range rules {
		if rule.Group == group && slices.Contains(rule.Resources, k.resource) && slices.Contains(rule.Verbs, verb) {
			return nil
		}
	}
	return &failure{code: http.StatusForbidden, reason: "Forbidden", key: k,
		message: fmt.Sprintf("%s %q is forbidden: "+
			"User %q cannot %s resource %q in API group %q in the namespace %q", k.qualified(), k.name,
			"system:serviceaccount:"+k.namespace+":"+token, verb, k.resource, group, k.namespace)}
}
