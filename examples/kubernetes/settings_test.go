package main

import (
	"strings"
	"testing"
	"time"
)

// Faults of the environment are reported all together, with the names of the variables.
func TestSettingsAreChecked(t *testing.T) {
	env := map[string]string{"SHOP_REPLICAS": "none", "SHOP_LEAVE": "long", "SHOP_DRAIN": "-1s"}
	_, err := read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	for _, want := range []string{"SHOP_REPLICAS", "SHOP_LEAVE", "SHOP_DRAIN", "one of SHOP_NODES"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
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
	if _, err := s.examine(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Config.Discovery", "4 nodes bear the loss of 1", "Config.TLS: there is none"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}
