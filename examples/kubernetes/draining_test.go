package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// A hook drains the pod. If no SIGTERM follows the pod serves again; after SIGTERM it does not.
func TestDraining(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		x := &service{settings: settings{drain: 5 * time.Second}}
		drain := func() (took time.Duration) {
			began := time.Now()
			x.hooks().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", drainPath, nil))
			return time.Since(began)
		}
		if x.draining.is() {
			t.Error("it drains before the hook")
		}
		if took := drain(); took != x.settings.drain || !x.draining.is() {
			t.Errorf("the hook took %v", took)
		}
		<-time.After(sigtermWithin)
		if x.draining.is() {
			t.Error("it drains although no SIGTERM has come")
		}
		drain()
		if err := x.draining.end(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if !x.draining.is() {
			t.Error("it serves after SIGTERM")
		}
	})
}

// The hook reaches the pod, and no other port has it drain.
func TestPreStop(t *testing.T) {
	x := &service{}
	pod := httptest.NewServer(x.hooks())
	s := settings{hook: strings.TrimPrefix(pod.URL, "http://")}
	for _, method := range []string{"GET", "POST"} {
		w := httptest.NewRecorder()
		x.probes().ServeHTTP(w, httptest.NewRequest(method, drainPath, nil))
		if w.Code != http.StatusNotFound || x.draining.is() {
			t.Errorf("the port of the probes: %d", w.Code)
		}
	}
	if err := s.preStop(t.Context()); err != nil || !x.draining.is() {
		t.Error(err)
	}
	pod.Close()
	http.DefaultClient.CloseIdleConnections()
	if err := s.preStop(t.Context()); err == nil {
		t.Error("it reached a pod that is gone")
	}
}
