package kubetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// object is an object of the API as JSON has it.
type object = map[string]any

// key names an object.
type key struct{ resource, namespace, name string }

// state is what the server keeps.
type state struct {
	mu         sync.Mutex
	objects    map[key]object
	namespaces map[string]bool
	grants     map[string][]Rule // by token; nil = everyone may do everything
	revision   int
	lies       bool
	lists      map[string][]object // the rest of lists, by the token of the next page
}

func newState() *state {
	return &state{
		objects: map[key]object{}, namespaces: map[string]bool{Namespace: true}, lists: map[string][]object{},
	}
}

func (s *state) edit(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Put makes or replaces an object as an administrator does, from what becomes JSON.
func (s *Server) Put(t testing.TB, resource, name string, o any) {
	t.Helper()
	if err := s.Replace(resource, name, o); err != nil {
		t.Fatal(err)
	}
}

// Replace is Put outside of a test.
func (s *Server) Replace(resource, name string, o any) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var made object
	if err := json.Unmarshal(text, &made); err != nil {
		return err
	}
	s.state.edit(func() {
		k := key{resource, Namespace, name}
		meta := metaOf(made)
		meta["name"] = name
		delete(meta, "uid")
		if old := s.state.objects[k]; old != nil {
			meta["uid"] = metaOf(old)["uid"]
		}
		s.state.store(k, made)
	})
	return nil
}

// Edit changes an object as an administrator does. It fails the test if there is none.
func (s *Server) Edit(t testing.TB, resource, name string, change func(object)) {
	t.Helper()
	o := s.Object(t, resource, name)
	change(o)
	s.Put(t, resource, name, o)
}

// Object returns a copy of an object. It fails the test if there is none.
func (s *Server) Object(t testing.TB, resource, name string) object {
	t.Helper()
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	o := s.state.objects[key{resource, Namespace, name}]
	if o == nil {
		t.Fatalf("there is no object %s in %s", name, resource)
	}
	return clone(o)
}

// Names returns the names of the objects of a resource, sorted.
func (s *Server) Names(resource string) (names []string) {
	s.state.edit(func() {
		for k := range s.state.objects {
			if k.resource == resource {
				names = append(names, k.name)
			}
		}
	})
	slices.Sort(names)
	return names
}

// Remove removes an object as an administrator does.
func (s *Server) Remove(resource, name string) {
	s.state.edit(func() { delete(s.state.objects, key{resource, Namespace, name}) })
}

// RemoveNamespace has the server know the namespace no more.
func (s *Server) RemoveNamespace() {
	s.state.edit(func() { delete(s.state.namespaces, Namespace) })
}

// clone copies an object. Texts are shared.
func clone(o object) object {
	c := make(object, len(o))
	for field, v := range o {
		c[field] = cloneValue(v)
	}
	return c
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case object:
		return clone(v)
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = cloneValue(one)
		}
		return all
	}
	return v
}

func metaOf(o object) object {
	meta, ok := o["metadata"].(object)
	if !ok {
		meta = object{}
		o["metadata"] = meta
	}
	return meta
}

func text(o object, field string) string {
	s, _ := o[field].(string)
	return s
}

// store gives an object its place, and a resourceVersion and a UID of the server. The lock is held.
func (s *state) store(k key, o object) object {
	s.revision++
	meta := metaOf(o)
	meta["namespace"], meta["resourceVersion"] = k.namespace, strconv.Itoa(s.revision)
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.revision)
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	s.objects[k] = o
	return clone(o)
}

func (s *state) get(k key) (object, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[k]; o != nil {
		return clone(o), nil
	}
	return nil, notFound(k)
}

func (s *state) remove(k key) (object, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[k]
	if o == nil {
		return nil, notFound(k)
	}
	delete(s.objects, k)
	return clone(o), nil
}

func (s *state) create(k key, o object) (object, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	meta := metaOf(o)
	switch {
	case !s.namespaces[k.namespace]:
		return nil, notFound(key{resource: "namespaces", name: k.namespace})
	case text(meta, "resourceVersion") != "":
		return nil, &failure{code: 500,
			message: "resourceVersion should not be set on objects to be created"}
	}
	if f := valid(k, o); f != nil {
		return nil, f
	}
	if s.objects[k] != nil {
		return nil, &failure{code: 409, reason: "AlreadyExists", key: k,
			message: fmt.Sprintf("%s %q already exists", k.qualified(), k.name)}
	}
	delete(meta, "uid")
	return s.store(k, o), nil
}

// update follows the order of the checks of the generic registry.
func (s *state) update(k key, o object) (_ object, code int, _ *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, meta := s.objects[k], metaOf(o)
	uid, version := text(meta, "uid"), text(meta, "resourceVersion")
	switch {
	case uid != "" && (old == nil || text(metaOf(old), "uid") != uid):
		return nil, 0, conflict(k, "Precondition failed: UID in precondition: "+uid+", UID in object meta: ")
	case old == nil && k.resource != "leases":
		return nil, 0, notFound(k)
	case old == nil:
		if f := valid(k, o); f != nil {
			return nil, 0, f
		}
		return s.store(k, o), http.StatusCreated, nil
	case version == "" && k.resource == "leases":
		return nil, 0, invalid(k, "metadata.resourceVersion: Invalid value: 0: must be specified for an update")
	case version != "" && version != text(metaOf(old), "resourceVersion") && !s.lies:
		return nil, 0, conflict(k, "the object has been modified; please apply your changes to the latest version and "+
			"try again")
	}
	if f := valid(k, o); f != nil {
		return nil, 0, f
	}
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "namespace"} {
		meta[field] = metaOf(old)[field]
	}
	if reflect.DeepEqual(o, old) {
		return clone(old), http.StatusOK, nil
	}
	return s.store(k, o), http.StatusOK, nil
}

// list returns a page of the objects of a resource with some labels, and the token of the next one.
func (s *state) list(resource, namespace, selector string, limit int, next string) (page []object, more string,
	f *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, known := s.lists[next]
	if all == nil {
		all = []object{}
	}
	switch {
	case next != "" && !known:
		return nil, "", &failure{code: 410, reason: "Expired", message: "The provided continue parameter is too old"}
	case next == "":
		for _, k := range slices.SortedFunc(maps.Keys(s.objects), func(a, b key) int {
			return strings.Compare(a.name, b.name)
		}) {
			if k.resource == resource && k.namespace == namespace && selects(selector, metaOf(s.objects[k])) {
				all = append(all, clone(s.objects[k]))
			}
		}
	}
	if limit <= 0 || len(all) <= limit {
		return all, "", nil
	}
	more = fmt.Sprint("page-", s.revision, "-", len(s.lists))
	s.lists[more] = all[limit:]
	return all[:limit], more, nil
}

// selects reports whether an object has the labels of a selector of equalities.
func selects(selector string, meta object) bool {
	have, _ := meta["labels"].(object)
	for one := range strings.SplitSeq(selector, ",") {
		name, want, _ := strings.Cut(one, "=")
		if one != "" && text(have, name) != want {
			return false
		}
	}
	return true
}
