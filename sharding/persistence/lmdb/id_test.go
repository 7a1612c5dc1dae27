package lmdb

import "testing"

// Nodes compare stores by their IDs: that of a directory stays, and no two have the same.
func TestID(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := mustOpen(t, dir).ID(); again != id {
		t.Errorf("the directory was %s and is %s", id, again)
	}
	if other := mustOpen(t, t.TempDir()).ID(); other == id {
		t.Errorf("two directories are %s", id)
	}
}
