package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console"
	"github.com/coterie-go/coterie/ddata/console/api"
)

// alone is a pod in a cluster of its own.
func alone(t *testing.T, tokens console.Tokens) *service {
	t.Helper()
	x := &service{
		settings: settings{http: "127.0.0.1:0"}, log: slog.New(slog.DiscardHandler), admin: newAdmin(tokens),
	}
	node, err := ddata.Start(t.Context(), ddata.Config{
		Name: clusterName, Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{role}, Preset: ddata.Local,
		Meter: x.admin.meter, Logger: x.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Close() })
	if err := x.begin(node); err != nil {
		t.Fatal(err)
	}
	return x
}

// Those with a token see the console and the metrics, and only those with the token for operators act.
func TestAdmin(t *testing.T) {
	tokens := console.Tokens{Read: "look", Operate: "steer"}
	pod, reading := alone(t, tokens), alone(t, console.Tokens{Read: "look"})
	first := httptest.NewRecorder()
	pod.requests().ServeHTTP(first, httptest.NewRequest("POST", "/counters/a", nil))
	if first.Code != http.StatusOK { // when it is, the type has a coordinator that can be asked to act
		t.Fatal(first)
	}
	const cluster, act, metrics = "/coterie/api/v1/cluster", "/coterie/api/v1/actions", "/metrics"
	const action = `{"do":"rebalance","type":"Counter"}`
	for _, c := range []struct {
		pod                 *admin
		token, method, path string
		code                int
		want                string
	}{
		{pod.admin, "", "GET", cluster, 401, ""},
		{pod.admin, "other", "GET", cluster, 401, ""},
		{pod.admin, "look", "GET", cluster, 200, `"Counter"`},
		{pod.admin, "look", "GET", "/coterie/", 200, "<html"},
		{pod.admin, "look", "POST", act, 403, ""},
		{pod.admin, "steer", "POST", act, 200, ""},
		{reading.admin, "look", "POST", act, 403, ""},
		{reading.admin, "steer", "POST", act, 401, ""},
		{reading.admin, "", "POST", act, 401, ""},
		{pod.admin, "", "GET", metrics, 401, ""},
		{pod.admin, "look", "GET", metrics, 200, "coterie_ready 1"},
		{pod.admin, "steer", "GET", metrics, 200, "go_goroutines"},
		{newAdmin(tokens), "look", "GET", cluster, 503, "waits for the cluster"},
		{newAdmin(tokens), "look", "GET", metrics, 200, "go_goroutines"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(action))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(api.Header, "test")
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		c.pod.handler().ServeHTTP(w, r)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s with %q: %d %.300s, want %d %q", c.method, c.path, c.token, w.Code, w.Body, c.code, c.want)
		}
	}
	w := httptest.NewRecorder()
	pod.probes().ServeHTTP(w, httptest.NewRequest("GET", metrics, nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("the port of the probes shows metrics: %d", w.Code)
	}
}
