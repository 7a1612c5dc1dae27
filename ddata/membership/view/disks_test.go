package view

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
)

// TestSetsAreBounded: sets that a later one repeats go, then the oldest. Joiners wait before it
// comes to that.
func TestSetsAreBounded(t *testing.T) {
	v := &View{
		Format: format.Initial, Cluster: 1, Epoch: 1000, LastUp: 1, Members: []Member{
			{UID: 1, Addr: "a", Roles: []string{"r"}, Status: Up, UpNumber: 1, Disk: 7, Formats: format.Build()},
		},
	}
	var sets []DiskSet
	for e := range Epoch(3 * SetsMax) {
		sets = append(sets, DiskSet{Epoch: e + 1, Role: "r", Disks: []DiskID{DiskID(e/2 + 1)}})
	}
	v.Inherit(sets)
	if n := len(v.Unsettled); n != SetsMax || v.Unsettled[n-1].Epoch != 3*SetsMax || v.Unsettled[0].Epoch != SetsMax+2 {
		t.Errorf("%d sets: %v", n, v.Unsettled)
	}
	if err := v.Check(); err != nil {
		t.Error(err)
	}
	v.Inherit(sets[:20])
	if n := len(v.Unsettled); n != 9 { // ten different ones, and one of them is the view's own
		t.Errorf("%d sets: %v", n, v.Unsettled)
	}
	v.Founded = true
	v.Inherit(sets[:20])
	if n := len(v.LastDisks("r")); n != 10 || v.LastDisks("s") != nil {
		t.Errorf("founding with %d sets: %v", n, v.Unsettled)
	}
}
