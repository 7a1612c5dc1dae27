package main

import (
	"os"
	"testing"
)

// TestMain makes the test binary a node of the demo when the demo starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv(envAddr) != "" {
		exit(runNode())
		return
	}
	os.Exit(m.Run())
}

// TestDemo plays the demo with real processes, as `make demo` does.
func TestDemo(t *testing.T) {
	d, err := newDemo()
	if err != nil {
		t.Fatal(err)
	}
	defer d.clean()
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	if d.failover <= 0 || d.rebalance <= 0 || d.restart <= 0 {
		t.Errorf("a figure was not measured: failover %v, rebalance %v, restart %v", d.failover, d.rebalance, d.restart)
	}
}

func TestEvenWantsAllShardsWithinOne(t *testing.T) {
	for _, c := range []struct {
		counts []int
		even   bool
	}{
		{[]int{8, 8, 7, 7}, true}, {[]int{10, 10, 10, 0}, false}, {[]int{8, 7, 7, 7}, false}, {[]int{9, 7, 7, 7}, false},
	} {
		if even(c.counts) != c.even {
			t.Errorf("%v: want %t", c.counts, c.even)
		}
	}
}
