package pods_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/pods"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = map[string]any

// pod is a pod of an application with an address, and one port.
func pod(app, ip, phase, port string, number int) object {
	return object{
		"metadata": object{"labels": object{"app": app, "pod-template-hash": "1"}},
		"spec": object{"containers": []object{{"name": "a", "ports": []object{{"name": port,
			"containerPort": number}}}}},
		"status": object{"podIP": ip, "phase": phase},
	}
}

func source(t *testing.T, client *rest.Config, port string) *pods.Source {
	t.Helper()
	s, err := pods.New(client, pods.Config{
		Namespace: kubetest.Namespace, Labels: map[string]string{"app": "shop"}, Port: port,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// asked fails the test unless the source names some addresses, and an error that says something.
func asked(t *testing.T, s *pods.Source, says string, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	a := discovery.Ask(ctx, s)
	if !slices.Equal(a.Addrs, want) || (a.Err != nil) != (says != "") || says != "" &&
		!strings.Contains(a.Err.Error(), says) {
		t.Errorf("%v: %v, %v; want %v, %q", s, a.Addrs, a.Err, want, says)
	}
}

// Pods are named by their address and port while their node may run, ready or not.
func TestPodsBecomeAddresses(t *testing.T) {
	server := kubetest.Start(t)
	named, numbered := source(t, server.Client(), "coterie"), source(t, server.Client(), "7946")
	asked(t, named, "no pod of the namespace has an address and these labels")
	if _, err := named.Discover(t.Context()); !errors.Is(err, discovery.ErrNoAddress) {
		t.Error(err)
	}
	server.Put(t, "pods", "a", pod("shop", "10.0.0.2", "Running", "coterie", 7000))
	server.Put(t, "pods", "b", pod("shop", "fd00::1", "Pending", "coterie", 7001))
	server.Put(t, "pods", "c", pod("shop", "", "Pending", "coterie", 7000))
	server.Put(t, "pods", "d", pod("shop", "10.0.0.3", "Succeeded", "coterie", 7000))
	server.Put(t, "pods", "e", pod("shop", "10.0.0.4", "Failed", "coterie", 7000))
	server.Put(t, "pods", "f", pod("till", "10.0.0.5", "Running", "coterie", 7000))
	ending := pod("shop", "10.0.0.6", "Running", "coterie", 7000)
	ending["metadata"].(object)["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	server.Put(t, "pods", "g", ending)
	asked(t, named, "", "10.0.0.2:7000", "10.0.0.6:7000", "[fd00::1]:7001")
	asked(t, numbered, "", "10.0.0.2:7946", "10.0.0.6:7946", "[fd00::1]:7946")
	server.Put(t, "pods", "h", pod("shop", "10.0.0.7", "Running", "http", 80))
	asked(t, named, "pod h has no port with the name coterie", "10.0.0.2:7000", "10.0.0.6:7000", "[fd00::1]:7001")
	if got := named.String(); got != "pods with app=shop, port coterie" {
		t.Error(got)
	}
}

// Many pods come in pages. A page that fails makes the answer one that is not whole.
func TestPages(t *testing.T) {
	server := kubetest.Start(t)
	for i := range 256 {
		server.Put(t, "pods", fmt.Sprint("p", i), pod("shop", fmt.Sprint("10.0.0.", i), "Running", "coterie", 7000))
	}
	before := server.Served()
	s := source(t, server.Client(), "coterie")
	if addrs, err := s.Discover(t.Context()); len(addrs) != 256 || err != nil || server.Served() != before+2 {
		t.Errorf("%d addresses by %d calls, %v", len(addrs), server.Served()-before, err)
	}
}

// What is wrong is said, and is not the answer that there are no pods.
func TestFailures(t *testing.T) {
	server := kubetest.Start(t)
	server.Grant("node", kubetest.Rule{Resources: []string{"pods"}, Verbs: []string{"get"}})
	s := source(t, server.As("node"), "coterie")
	asked(t, s, `the account may not list pods in the namespace shop`)
	asked(t, s, `resources: ["pods"], verbs: ["list"]`)
	if _, err := s.Discover(t.Context()); errors.Is(err, discovery.ErrNoAddress) {
		t.Error("no right is no address:", err)
	}
	server.Grant("node", kubetest.Rule{Resources: []string{"pods"}, Verbs: []string{"list"}})
	server.Throttle(1, 3*time.Second)
	asked(t, s, "asks to wait 3s")
	server.Stop()
	asked(t, s, "the API server cannot be reached")
	server.Restart(t)
	server.Put(t, "pods", "a", pod("shop", "10.0.0.2", "Running", "coterie", 7000))
	asked(t, s, "", "10.0.0.2:7000")
	server.Pause()
	defer server.Resume()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Discover(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestSettings(t *testing.T) {
	fine := pods.Config{Namespace: "a", Labels: map[string]string{"app": "shop"}, Port: "1"}
	for want, change := range map[string]func(*pods.Config){
		"Config.Labels: is empty": func(c *pods.Config) { c.Labels = nil },
		"Config.Labels":           func(c *pods.Config) { c.Labels = map[string]string{"a b": "c"} },
		"Config.Port":             func(c *pods.Config) { c.Port = "" },
		"Config.Namespace":        func(c *pods.Config) { c.Namespace = "" },
	} {
		c := fine
		change(&c)
		if _, err := pods.New(&rest.Config{Dial: (&net.Dialer{}).DialContext}, c); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
