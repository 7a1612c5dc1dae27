package builds

import (
	"errors"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// TestAnOperatorUpgrades: a slot on which a build was refused has the second, and so has each slot of a
// healed world.
func TestAnOperatorUpgrades(t *testing.T) {
	f := New(true, random.Streams{Seed: 1})
	seen := map[format.Range]bool{}
	for uid := range uint64(200) {
		seen[f.Start(0, uid, uid%2 == 0, true, false)] = true
		if f.Outdated(uid) != (f.of[uid] != Second) {
			t.Errorf("%v is outdated: %t", f.of[uid], f.Outdated(uid))
		}
	}
	if len(seen) != 3 {
		t.Errorf("builds %v", seen)
	}
	for why, want := range map[error]bool{
		errors.New("other"): false, fmt.Errorf("x: %w", format.ErrUnspoken): true,
		&membership.RefusedError{Reason: bootstrap.ReasonConfig}: false,
		&membership.RefusedError{Reason: bootstrap.ReasonFormat}: true,
	} {
		if got := f.Upgrade(3, 1000, why); got != want {
			t.Errorf("%v: %t", why, got)
		}
	}
	for uid := range uint64(50) {
		if f.Start(3, uid, false, true, false) != Second || f.Start(4, uid, false, true, true) != Second {
			t.Error("another build than the second")
		}
	}
	if !f.Upgrade(3, 49, format.ErrUnspoken) || f.Start(3, 99, true, true, true) != Third {
		t.Error("where the second was refused, the third does not come")
	}
	if !f.Upgrade(3, 99, format.ErrUnspoken) || f.Start(3, 100, true, true, true) != Second {
		t.Error("where the third was refused, the second does not come")
	}
	if f.Outgrown(3) {
		t.Error("no cluster has refused the second build")
	}
	f.Start(3, 101, true, true, true)
	if !f.Upgrade(3, 101, &membership.RefusedError{Reason: bootstrap.ReasonFormat}) || f.Outgrown(3) {
		t.Error("a build that the cluster refuses is not the end")
	}
	f.Start(3, 102, true, true, true)
	if f.Upgrade(3, 102, format.ErrUnspoken) || !f.Outgrown(3) || f.Start(3, 103, true, true, true) != Third {
		t.Error("a disk that was away for two builds is not seen")
	}
	one := New(false, random.Streams{Seed: 1})
	if one.Start(0, 1, false, true, false) != format.Build() || one.Outdated(1) {
		t.Error("a world of one build has another")
	}
}

// TestLevels: a view whose level a member does not speak is seen, and one that could be higher.
func TestLevels(t *testing.T) {
	f := New(true, random.Streams{Seed: 1})
	f.of[1], f.of[2] = First, Second
	v := &view.View{Format: 1, Members: []view.Member{{UID: 1, Formats: First}, {UID: 2, Formats: Second}}}
	if f.Unspoken(v) != "" || Unraised(v) != "" {
		t.Errorf("%q, %q", f.Unspoken(v), Unraised(v))
	}
	v.Format = 2
	if f.Unspoken(v) == "" {
		t.Error("the first build does not speak level 2")
	}
	v.Format, v.Members[0].Formats, f.of[1] = 1, Second, Second
	if f.Unspoken(v) != "" || Unraised(v) == "" {
		t.Errorf("all speak level 2: %q, %q", f.Unspoken(v), Unraised(v))
	}
	v.Members[0].Formats = Third
	if f.Unspoken(v) == "" {
		t.Error("it is listed with another range")
	}
}
