package crdt

import (
	"errors"
	"strings"
	"testing"
)

// An element or key that is too large is refused with its own size and limit, not with those of the
// path that it becomes part of.
func TestElementsAndKeysAreBounded(t *testing.T) {
	set := New[ORSet[string]](1)
	lww := New[LWWMap[string, int]](2)
	nested := New[ORMap[string, ORSet[string], *ORSetTx[string]]](3)
	for name, put := range map[string]func(s string) error{
		"element": func(s string) error {
			_, err := set.Update(func(tx *ORSetTx[string]) error { return tx.Add(s) })
			return err
		},
		"key": func(s string) error {
			_, err := lww.Update(func(tx *LWWMapTx[string, int]) error { return tx.Put(s, 1) })
			return err
		},
	} {
		if err := put(strings.Repeat("x", ElementMax)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		err := put(strings.Repeat("x", 5000))
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "element or map key takes 5000 bytes") ||
			!strings.Contains(err.Error(), "at most 4095") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := nested.Update(func(tx *ORMapTx[string, ORSet[string], *ORSetTx[string]]) error {
		return tx.Update(strings.Repeat("k", 3000), func(s *ORSetTx[string]) error {
			return s.Add(strings.Repeat("e", 3000))
		})
	})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "with the keys of the maps around it") {
		t.Errorf("nested: %v", err)
	}
}

// What Update returns is what Apply takes, also if nothing changed.
func TestApplyTakesNothing(t *testing.T) {
	a, b := New[ORSet[string]](1), New[ORSet[string]](2)
	g, err := a.Update(func(tx *ORSetTx[string]) error { return tx.Remove("x") })
	if err != nil || g != nil {
		t.Fatal(g, err)
	}
	if out, err := b.Apply(g); out != Duplicate || err != nil {
		t.Error(out, err)
	}
}
