package kubernetes_test

import (
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
)

// says fails the test unless an error is of a kind, and says something.
func says(t *testing.T, err, kind error, what string) {
	t.Helper()
	if !errors.Is(err, kind) || !strings.Contains(err.Error(), what) {
		t.Errorf("%v; want %q, with %q", err, kind, what)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  kubernetes.Config
		want string
	}{
		{kubernetes.Config{Prefix: "a_b"}, "Config.Prefix"}, {kubernetes.Config{Prefix: "a-"}, "Config.Prefix"},
		{kubernetes.Config{Prefix: strings.Repeat("a", 41)}, "Config.Prefix"},
		{kubernetes.Config{TTL: 1500 * time.Millisecond}, "Config.TTL"}, {kubernetes.Config{TTL: -time.Second},
			"Config.TTL"},
		{kubernetes.Config{Timeout: -1}, "Config.Timeout"},
		{kubernetes.Config{}, "Config.Namespace is empty"},
	} {
		_, err := kubernetes.Open(t.Context(), &rest.Config{}, c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
	if _, err := kubernetes.Open(t.Context(), nil, config("p", 1)); err == nil || !strings.Contains(err.Error(),
		"rest.InClusterConfig") {
		t.Error(err)
	}
}

// The rights that the documentation lists are enough, and each one that is missing is named.
func TestRights(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	const group = "coordination.k8s.io"
	grant := func(leases, maps string) {
		server.Grant("node",
			kubetest.Rule{Group: group, Resources: []string{"leases"}, Verbs: strings.Fields(leases)},
			kubetest.Rule{Resources: []string{"configmaps"}, Verbs: strings.Fields(maps)})
	}
	lacks := func(err error, verb, resource, group string) {
		t.Helper()
		says(t, err, locks.ErrUnusable, "the account may not "+verb+" "+resource+" in the namespace shop")
		says(t, err, locks.ErrUnusable, `apiGroups: ["`+group+`"], resources: ["`+resource+`"], verbs: ["`+verb+`"]`)
	}
	client := server.As("node")
	try := func() error { _, err := kubernetes.Open(t.Context(), client, config("p", 15)); return err }
	grant("", "")
	lacks(try(), "get", "leases", group)
	grant("get", "")
	lacks(try(), "create", "leases", group)
	grant("get create", "")
	lacks(try(), "update", "leases", group)
	grant("get create update", "")
	l := drill.Door(t, open(t, "p", 15, client), "me")
	_, err := l.Acquire(t.Context(), nil)
	lacks(err, "get", "configmaps", "")
	grant("get create update", "get")
	lost := drill.Acquire(t, l)
	lacks(l.Save(t.Context(), nil), "create", "configmaps", "")
	grant("get create update", "get create")
	if _, err := l.Load(t.Context()); err != nil {
		t.Error(err)
	}
	lacks(l.Save(t.Context(), nil), "update", "configmaps", "")
	grant("get create update", "get create update")
	if err := errors.Join(l.Save(t.Context(), []byte("x")), l.Release(t.Context())); err != nil {
		t.Error(err)
	}
	kept(t, lost)
	_, err = kubernetes.Open(t.Context(), server.As("stranger"), config("p", 15))
	says(t, err, locks.ErrUnusable, "the API server does not know this account")
}

// What is wrong with the way to the server is said.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	missing := config("p", 15)
	missing.Namespace = "nowhere"
	_, err := kubernetes.Open(t.Context(), server.Client(), missing)
	says(t, err, locks.ErrUnusable, "there is no namespace nowhere")
	secure := httptest.NewUnstartedServer(server)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	_, err = kubernetes.Open(t.Context(), &rest.Config{Host: secure.URL}, config("p", 15))
	says(t, err, locks.ErrUnusable, "the authority of the API server's certificate")
	_, err = kubernetes.Open(t.Context(), &rest.Config{Host: "https://" + server.Addr()}, config("p", 15))
	says(t, err, locks.ErrUnusable, "have not agreed on TLS")
	l := drill.Door(t, open(t, "p", 15, server.Client()), "me")
	drill.Acquire(t, l)
	server.RemoveNamespace()
	for _, resource := range []string{"leases", "configmaps"} {
		for _, name := range server.Names(resource) {
			server.Remove(resource, name)
		}
	}
	says(t, l.Save(t.Context(), nil), locks.ErrUnusable, "there is no namespace shop")
	server.Stop()
	_, err = kubernetes.Open(t.Context(), server.Client(), config("p", 15))
	says(t, err, locks.ErrUnusable, "the API server cannot be reached")
}

// Servers that do not keep the rules are refused, before there are two holders.
func TestLyingServer(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	server.Lie()
	_, err := kubernetes.Open(t.Context(), server.Client(), config("p", 15))
	says(t, err, locks.ErrUnusable, "it takes an update with an old resourceVersion")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>please log in</html>"))
	}))
	defer page.Close()
	client := &rest.Config{Host: page.URL}
	if _, err = kubernetes.Open(t.Context(), client, config("p", 15)); !errors.Is(err, locks.ErrUnusable) {
		t.Error("a page is a store:", err)
	}
}

// A server that answers updates and does not make them is refused, and gives no lease.
func TestForgetfulServer(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	var forgets atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forgets.Load() && r.Method == http.MethodPut {
			r.Method = http.MethodGet
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	client := &rest.Config{Host: front.URL}
	l := drill.Door(t, open(t, "p", 1, client), "me")
	lost := drill.Acquire(t, l)
	forgets.Store(true)
	_, err := kubernetes.Open(t.Context(), client, config("p", 15))
	says(t, err, locks.ErrUnusable, "an update has left the resourceVersion as it was")
	says(t, drill.Told(t, lost), locks.ErrNotHeld, "it has answered a renewal, and not made it")
	forgets.Store(false)
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	forgets.Store(true)
	ok, err := l.Acquire(t.Context(), nil)
	says(t, err, locks.ErrUnusable, "it has answered an acquisition with another holder")
	if ok || !l.Until().IsZero() {
		t.Errorf("acquired %t, until %v", ok, l.Until())
	}
	forgets.Store(false)
}

// A server that takes less than a record may have says so.
func TestRequestLimit(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	const most = 64 << 10
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > most {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	l := drill.Door(t, open(t, "p", 15, &rest.Config{Host: front.URL}), "me")
	drill.Acquire(t, l)
	says(t, l.Save(t.Context(), make([]byte, locks.RecordMax)), locks.ErrTooLarge, "take requests of 1.5 MiB")
	if got, err := l.Load(t.Context()); got != nil || err != nil {
		t.Errorf("the record is %d bytes, %v", len(got), err)
	}
}

// What was not made for leases is refused, and what was damaged is not taken for nothing.
func TestForeignContent(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	server.Put(t, "leases", "foreign", map[string]any{})
	_, err := kubernetes.Open(t.Context(), server.Client(), config("foreign", 15))
	says(t, err, locks.ErrForeign, "shop/foreign")
	l := drill.Door(t, open(t, "p", 15, server.Client()), "me")
	drill.Acquire(t, l)
	if err := l.Save(t.Context(), []byte("a record")); err != nil {
		t.Fatal(err)
	}
	name := server.Names("configmaps")[0]
	good := server.Object(t, "configmaps", name)
	meta := func(o map[string]any) map[string]any {
		return o["metadata"].(map[string]any)["annotations"].(map[string]any)
	}
	for _, harm := range []func(o map[string]any){
		func(o map[string]any) {
			o["binaryData"] = map[string]string{"record": base64.StdEncoding.EncodeToString([]byte("another"))}
		},
		func(o map[string]any) { delete(meta(o), "coterie/crc32c") },
		func(o map[string]any) { delete(meta(o), "coterie/name") },
		func(o map[string]any) { meta(o)["coterie/fence"] = "first" },
		func(o map[string]any) { delete(meta(o), "coterie/fence") },
	} {
		server.Edit(t, "configmaps", name, harm)
		_, err := l.Load(t.Context())
		says(t, err, locks.ErrDamaged, "ConfigMap shop/"+name)
		server.Put(t, "configmaps", name, good)
	}
	if got, err := l.Load(t.Context()); string(got) != "a record" || err != nil {
		t.Errorf("the record is %q, %v", got, err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, harm := range map[string]func(o map[string]any){
		"no annotation coterie/name": func(o map[string]any) { delete(meta(o), "coterie/name") },
		"no leaseDurationSeconds": func(o map[string]any) {
			o["spec"] = map[string]any{"holderIdentity": "other"}
		},
		"cannot be counted up": func(o map[string]any) { o["spec"] = map[string]any{"leaseTransitions": 1<<31 - 1} },
	} {
		free := server.Object(t, "leases", leaseOf(server))
		server.Edit(t, "leases", leaseOf(server), harm)
		_, err := l.Acquire(t.Context(), nil)
		says(t, err, locks.ErrForeign, want)
		server.Put(t, "leases", leaseOf(server), free)
	}
	drill.Acquire(t, l)
}

// leaseOf returns the name of the object of the lease x.
func leaseOf(s *kubetest.Server) string {
	for _, name := range s.Names("leases") {
		if strings.HasPrefix(name, "p-x-") {
			return name
		}
	}
	return ""
}
