package kubetest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = map[string]any

const (
	leases = "/apis/coordination.k8s.io/v1/namespaces/shop/leases"
	maps   = "/api/v1/namespaces/shop/configmaps"
	pods   = "/api/v1/namespaces/shop/pods"
)

// client makes requests as any client would: it knows paths and JSON.
type client struct {
	*testing.T
	url    string
	server *kubetest.Server // nil: it is a real one
	token  string
}

func newClient(t *testing.T) client {
	server := kubetest.Start(t)
	return client{T: t, url: server.URL(), server: server}
}

func (c client) do(method, path string, body object) (code int, answer object, header http.Header) {
	c.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.Fatal(err)
	}
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, bytes.NewReader(text))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer got.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if err := json.NewDecoder(got.Body).Decode(&answer); err != nil {
		c.Fatal(err)
	}
	return got.StatusCode, answer, got.Header
}

// gives makes a request and fails the test unless the answer has a code, and the reason if it has one.
func (c client) gives(method, path string, body object, code int, reason string) object {
	c.Helper()
	got, answer, _ := c.do(method, path, body)
	if r, _ := answer["reason"].(string); got != code || r != reason {
		c.Errorf("%s %s: %d %v; want %d %s", method, path, got, answer, code, reason)
	}
	return answer
}

func lease(name string, version any, spec object) object {
	return object{"metadata": object{"name": name, "resourceVersion": version}, "spec": spec}
}

func meta(o object, field string) string { return fmt.Sprint(o["metadata"].(object)[field]) }

// Writes that meet each other: each sentence of the package's documentation.
func TestUpdates(t *testing.T) { newClient(t).updates() }

// A real API server keeps the same rules: one that COTERIE_KUBERNETES_API names, such as that of kubectl proxy,
// with a namespace shop that has nothing in it.
func TestUpdatesOfARealServer(t *testing.T) {
	url := os.Getenv("COTERIE_KUBERNETES_API")
	if url == "" {
		t.Skip("NOT TRIED: COTERIE_KUBERNETES_API names no API server") // skip: machines seldom have Kubernetes
	}
	c := client{T: t, url: url}
	for _, path := range []string{leases + "/a", maps + "/m"} {
		c.do("DELETE", path, nil)
	}
	c.updates()
}

func (c client) updates() {
	first := c.gives("POST", leases, lease("a", nil, object{"holderIdentity": "x"}), 201, "")
	c.gives("POST", leases, lease("a", nil, nil), 409, "AlreadyExists")
	c.gives("POST", leases, lease("b", "7", nil), 500, "")
	version := meta(first, "resourceVersion")
	same := c.gives("PUT", leases+"/a", lease("a", version, object{"holderIdentity": "x"}), 200, "")
	if meta(same, "resourceVersion") != version {
		c.Error("an update without a change has changed the resourceVersion")
	}
	second := c.gives("PUT", leases+"/a", lease("a", version, object{"holderIdentity": "y"}), 200, "")
	if meta(second, "resourceVersion") == version || meta(second, "uid") != meta(first, "uid") {
		c.Error("an update has left the resourceVersion, or changed the UID:", second)
	}
	c.gives("PUT", leases+"/a", lease("a", version, object{"holderIdentity": "z"}), 409, "Conflict")
	c.gives("PUT", leases+"/a", lease("a", nil, object{"holderIdentity": "z"}), 422, "Invalid")
	c.gives("PUT", leases+"/a", lease("b", version, nil), 400, "BadRequest")
	other := lease("a", meta(second, "resourceVersion"), nil)
	other["metadata"].(object)["uid"] = "another"
	c.gives("PUT", leases+"/a", other, 409, "Conflict")
	if got := c.gives("GET", leases+"/a", nil, 200, ""); got["spec"].(object)["holderIdentity"] != "y" ||
		got["kind"] != "Lease" || got["apiVersion"] != "coordination.k8s.io/v1" {
		c.Error("got", got)
	}
	c.gives("DELETE", leases+"/a", nil, 200, "")
	c.gives("DELETE", leases+"/a", nil, 404, "NotFound")
	c.gives("GET", leases+"/a", nil, 404, "NotFound")
	c.gives("PUT", leases+"/a", second, 409, "Conflict")
	again := c.gives("PUT", leases+"/a", lease("a", version, nil), 201, "")
	if meta(again, "uid") == meta(first, "uid") || meta(again, "resourceVersion") == version {
		c.Error("an object that is made again has the UID or the resourceVersion of the former one")
	}
	c.gives("PUT", maps+"/m", object{"metadata": object{"name": "m"}}, 404, "NotFound")
	c.gives("POST", maps, object{"metadata": object{"name": "m"}}, 201, "")
	c.gives("PUT", maps+"/m", object{"metadata": object{"name": "m"}, "data": object{"a": "b"}}, 200, "")
}

// The real server has an admission for that.
func TestMissingNamespace(t *testing.T) {
	c := newClient(t)
	c.gives("POST", strings.Replace(maps, "shop", "nowhere", 1), object{"metadata": object{"name": "m"}}, 404,
		"NotFound")
}

func TestValidation(t *testing.T) {
	c := newClient(t)
	for _, spec := range []object{
		{"leaseDurationSeconds": 0}, {"leaseDurationSeconds": -1}, {"leaseTransitions": -1},
	} {
		c.gives("POST", leases, lease("a", nil, spec), 422, "Invalid")
	}
	c.gives("POST", leases, lease("a", nil, object{"renewTime": "2026-01-02T03:04:05Z"}), 400, "BadRequest")
	for _, name := range []string{"", "A", "a_b", "-a", strings.Repeat("a", 254)} {
		c.gives("POST", leases, lease(name, nil, nil), 422, "Invalid")
	}
	record := func(size int) object {
		value := base64.StdEncoding.EncodeToString(make([]byte, size))
		return object{"metadata": object{"name": fmt.Sprint("m", size)}, "binaryData": object{"r": value}}
	}
	c.gives("POST", maps, record(1<<20), 201, "")
	c.gives("POST", maps, record(1<<20+1), 422, "Invalid")
	c.gives("POST", maps, record(3<<20), 413, "RequestEntityTooLarge")
	c.gives("POST", maps, object{"metadata": object{
		"name": "n", "annotations": object{"a": strings.Repeat("x", 256<<10)},
	}}, 422, "Invalid")
}

func TestAccounts(t *testing.T) {
	c := newClient(t)
	c.token = "ann"
	c.gives("GET", leases+"/a", nil, 404, "NotFound")
	c.server.Grant("ann", kubetest.Rule{Group: "coordination.k8s.io", Resources: []string{"leases"},
		Verbs: []string{"get"}})
	c.gives("GET", leases+"/a", nil, 404, "NotFound")
	said := c.gives("POST", leases, lease("a", nil, nil), 403, "Forbidden")["message"].(string)
	for _, want := range []string{"cannot create resource", `"leases"`, `namespace "shop"`, "ann"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	c.gives("GET", maps+"/a", nil, 403, "Forbidden")
	c.gives("GET", leases, nil, 403, "Forbidden")
	c.token = "bob"
	c.gives("GET", leases+"/a", nil, 401, "Unauthorized")
}

func TestLoad(t *testing.T) {
	c := newClient(t)
	c.server.Throttle(1, 2*time.Second)
	code, said, header := c.do("GET", leases+"/a", nil)
	if code != 429 || said["reason"] != "TooManyRequests" || header.Get("Retry-After") != "2" ||
		said["details"].(object)["retryAfterSeconds"] != 2.0 {
		t.Error(code, said, header)
	}
	c.server.Fail(1)
	c.gives("GET", leases+"/a", nil, 500, "InternalError")
	c.gives("GET", leases+"/a", nil, 404, "NotFound")
}

// A list has pages of one state, of what has the labels.
func TestLists(t *testing.T) {
	c := newClient(t)
	for i := range 5 {
		c.server.Put(t, "pods", fmt.Sprint("p", i), object{"metadata": object{"labels": object{"app": "a",
			"n": fmt.Sprint(i % 2)}}})
	}
	names := func(query string) (got []string, next string) {
		o := c.gives("GET", pods+query, nil, 200, "")
		for _, item := range o["items"].([]any) {
			got = append(got, meta(item.(object), "name"))
		}
		return got, meta(o, "continue")
	}
	got, next := names("?labelSelector=app%3Da,n%3D0&limit=2")
	c.server.Remove("pods", "p4")
	rest, end := names("?labelSelector=app%3Da,n%3D0&limit=2&continue=" + next)
	if fmt.Sprint(got, rest) != "[p0 p2] [p4]" || next == "" || end != "" {
		t.Error(got, rest, next, end)
	}
	c.gives("GET", pods+"?continue=old", nil, 410, "Expired")
	if got, _ := names("?labelSelector=app%3Db"); len(got) > 0 {
		t.Error(got)
	}
}

// What was stored is there after a restart, and a request that came in a pause is answered after it.
func TestRestartAndPause(t *testing.T) {
	c := newClient(t)
	c.gives("POST", leases, lease("a", nil, nil), 201, "")
	c.server.Stop()
	c.server.Restart(t)
	c.gives("GET", leases+"/a", nil, 200, "")
	c.server.Pause()
	answered := make(chan int)
	go func() {
		code, _, _ := c.do("GET", leases+"/a", nil)
		answered <- code
	}()
	select {
	case code := <-answered:
		t.Error("answered in a pause:", code)
	case <-time.After(50 * time.Millisecond):
	}
	c.server.Resume()
	if code := <-answered; code != 200 {
		t.Error(code)
	}
}
