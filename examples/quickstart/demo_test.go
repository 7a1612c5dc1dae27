package main

import (
	"os"
	"path/filepath"
	"testing"
)

const envPlay = "QUICKSTART_PLAY" // any value: this process plays the demo

// program is what the test binary is when it is started with env in its environment.
type program struct {
	env string
	run func() error
}

var programs = []program{{envAddr, runNode}, {envPlay, func() error { return play("") }}}

// TestMain makes the test binary the demo, or a node of it, when it is started as one.
func TestMain(m *testing.M) {
	for _, p := range programs {
		if os.Getenv(p.env) != "" {
			exit(p.run())
			return
		}
	}
	os.Exit(m.Run())
}

// TestDemo plays the demo with real processes, as `make demo` does.
func TestDemo(t *testing.T) {
	d, err := newDemo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer d.clean()
	d.plot = filepath.Join(t.TempDir(), "demo.svg")
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	plot, err := os.ReadFile(d.plot)
	if err != nil {
		t.Fatal(err)
	}
	drawn(t, plot)
	if d.failover <= 0 || d.rebalance <= 0 || d.restart <= 0 {
		t.Errorf("a figure was not measured: failover %v, rebalance %v, restart %v", d.failover, d.rebalance, d.restart)
	}
}

func TestEvenWantsAllShardsWithinOne(t *testing.T) {
	for _, c := range []struct {
		counts []int
		even   bool
	}{
		{[]int{8, 8, 7, 7}, true}, {[]int{10, 10, 10, 0}, false}, {[]int{8, 7, 7, 7}, false},
		{[]int{9, 7, 7, 7}, false},
	} {
		if even(c.counts) != c.even {
			t.Errorf("%v: want %t", c.counts, c.even)
		}
	}
}
