package main

import (
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Faults of the environment are reported all together, with the names of the variables.
func TestSettingsAreChecked(t *testing.T) {
	env := map[string]string{"SHOP_REPLICAS": "none", "SHOP_LEAVE": "long", "SHOP_DRAIN": "-1s", "SHOP_LEASES": "true",
		"SHOP_HOOK": "0.0.0.0:8082"}
	_, wrong := read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	var out strings.Builder
	if (settings{}).examine(t.Context(), wrong, &out) {
		t.Error("the doctor finds nothing wrong")
	}
	for _, want := range []string{"SHOP_REPLICAS", "SHOP_LEAVE", "SHOP_DRAIN", "SHOP_NODES", "SHOP_LEASES",
		"SHOP_HOOK"} {
		if !strings.Contains(wrong.Error(), want) || !strings.Contains(out.String(), "error    "+want+": ") {
			t.Errorf("%q is not in %v\nor not in %s", want, wrong, &out)
		}
	}
}

// outside are settings of a pod that reaches nothing: files are missing, and there is no API server.
func outside(t *testing.T) settings {
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // whatever runs the tests
	return settings{
		probes: "127.0.0.1:0", hook: "127.0.0.1:0", bind: "127.0.0.1:0", advertise: "10.1.2.3:7946",
		labels: "app=shop", replicas: 3,
		tls: filepath.Join(t.TempDir(), "missing"), leases: true, leave: time.Second,
	}
}

// What cannot be opened is an error that names the variable, and a finding of the doctor, which looks at the
// rest all the same.
func TestWhatCannotBeOpenedIsNamed(t *testing.T) {
	s := outside(t)
	err := serve(t.Context(), s, slog.New(slog.DiscardHandler))
	var out strings.Builder
	if s.examine(t.Context(), nil, &out) {
		t.Error("the doctor finds nothing wrong")
	}
	for _, want := range []string{"SHOP_TLS", "SHOP_LABELS", "SHOP_LEASES"} {
		if err == nil || !strings.Contains(err.Error(), want+": ") ||
			!strings.Contains(out.String(), "error    "+want+": ") {
			t.Errorf("%q is not in %v\nor not in %s", want, err, &out)
		}
	}
	if !strings.Contains(out.String(), "Config.Dir") || strings.Contains(out.String(), "Config.TLS") {
		t.Error(out.String())
	}
}

// A certificate that is none, and labels that are none, are named.
func TestJunkIsNamed(t *testing.T) {
	s := outside(t)
	s.tls, s.labels, s.leases = t.TempDir(), "app shop", false
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if err := os.WriteFile(filepath.Join(s.tls, name), []byte("junk"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, end, wrong := s.config(t.Context(), slog.New(slog.DiscardHandler))
	end()
	for _, want := range []string{"SHOP_TLS: pki: ", `SHOP_LABELS: it is "app shop"`} {
		if !strings.Contains(wrong.Error(), want) {
			t.Errorf("%q is not in %v", want, wrong)
		}
	}
}

// The doctor judges the time to leave by what the hook leaves of the grace period.
func TestDoctorKnowsTheGracePeriod(t *testing.T) {
	for grace, want := range map[time.Duration]bool{0: false, 31 * time.Second: false, 30 * time.Second: true} {
		s := outside(t)
		s.drain, s.leave, s.grace = 5*time.Second, 25*time.Second, grace
		var out strings.Builder
		s.examine(t.Context(), nil, &out)
		if strings.Contains(out.String(), "may take 25s to leave, and is killed after 25s") != want {
			t.Errorf("%v: %s", grace, &out)
		}
	}
	env := map[string]string{"SHOP_LABELS": "app=shop", "SHOP_DRAIN": "40s", "SHOP_GRACE": "40s"}
	_, wrong := read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if len(wrong) != 1 || wrong[0].variable != "SHOP_GRACE" {
		t.Error(wrong)
	}
}

// Beside a running pod the doctor does not say that its port is taken.
func TestDoctorBesideAPod(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := outside(t)
	s.bind = taken.Addr().String()
	says := func() bool {
		var out strings.Builder
		s.examine(t.Context(), nil, &out)
		return strings.Contains(out.String(), "Config.Bind: nothing can listen there")
	}
	if !says() {
		t.Error("another process has the port, and it is not found")
	}
	pod := httptest.NewServer((&service{}).hooks())
	defer pod.Close()
	if s.hook = strings.TrimPrefix(pod.URL, "http://"); says() {
		t.Error("the pod itself has the port, and it is found")
	}
}

// Founders are more than half of the pods that there can be without data at a time.
func TestFounders(t *testing.T) {
	for replicas := 2; replicas <= 9; replicas++ {
		for _, s := range []settings{{replicas: replicas, dir: "x"}, {replicas: replicas}} {
			if n := s.founders(); 2*n <= replicas+s.surge() || n > replicas {
				t.Errorf("%d of %d, with a directory %q", n, replicas, s.dir)
			}
		}
	}
}

// The program says what will go wrong with its settings.
func TestDoctorFlag(t *testing.T) {
	s := settings{
		bind: "127.0.0.1:0", advertise: "10.1.2.3:7946", nodes: "no-such-service.invalid.", replicas: 4,
		dir:   t.TempDir(),
		leave: time.Second,
	}
	var out strings.Builder
	s.examine(t.Context(), nil, &out)
	for _, want := range []string{"Config.Discovery", "4 nodes bear the loss of 1", "Config.TLS: there is none"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}
