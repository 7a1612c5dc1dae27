package main

import (
	"strings"
	"testing"
)

// Each start of the program finds the counts that the one before has left, on each store.
func TestCountsAreThereAfterARestart(t *testing.T) {
	for store := range stores { // order: each store has a directory of its own
		t.Run(store, func(t *testing.T) {
			dir := t.TempDir()
			for i, want := range []string{
				"found alice at 0\nfound bob at 0\nleft alice at 3\nleft bob at -2\n",
				"found alice at 3\nfound bob at -2\nleft alice at 6\nleft bob at -4\n",
				"found alice at 6\nfound bob at -4\nleft alice at 9\nleft bob at -6\n",
			} {
				var out strings.Builder
				if err := run(&out, store, dir); err != nil {
					t.Fatal(err)
				}
				if out.String() != want {
					t.Errorf("start %d says\n%swant\n%s", i+1, out.String(), want)
				}
			}
		})
	}
}

func TestAnUnknownStore(t *testing.T) {
	err := run(&strings.Builder{}, "tape", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "there are lmdb and ddata") {
		t.Errorf("it says %v", err)
	}
}
