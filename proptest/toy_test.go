package proptest

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
)

// toy is a set of short strings, as a user might write it, with a defect D. It keeps one item per
// element, at kind ‖ element, with the payload "v1".
type toy[D any] struct {
	r     crdt.Reader
	extra []string
}

type toyTx[D any] struct {
	tx    *crdt.Tx
	cache map[string]bool // of the defect stale
}

const (
	toyKind  crdt.Kind = 0x91
	toyValue           = "v1"
)

// Defects of a toy, each of which a law must find.
type (
	sound      struct{}
	removesWin struct{} // no defect but a wrong model: it has removes win over concurrent adds
	lazy       struct{} // an Add of "a" does nothing
	deaf       struct{} // a Remove removes only what its own origin put
	greedy     struct{} // a Remove removes all
	untidy     struct{} // an Add leaves the item that it replaces
	tombstones struct{} // a Remove leaves a marker behind
	abroad     struct{} // an Add writes at a path of another kind
	blind      struct{} // the view does not look at kinds
	trusting   struct{} // the view slices payloads without a look at their length
	shuffled   struct{} // a Clear removes in the order of a map
	leaking    struct{} // an Add writes outside of its transaction, and the view reads it
	moody      struct{} // every seventh view is another
	lent       struct{} // views share one slice
	stale      struct{} // the mutator reads once, when it is made
	refusing   struct{} // an Add of "b" is refused
	panicking  struct{} // a Remove of what is not there panics
)

func is[D, X any]() bool {
	_, ok := any(*new(D)).(X)
	return ok
}

var (
	leaked []string // of the defect leaking
	mood   int      // of moody
	shared []string // of lent
)

func (toy[D]) Kind() crdt.Kind { return toyKind }

func (toy[D]) View(r crdt.Reader) (toy[D], error) {
	if !is[D, blind]() {
		if err := r.CheckKind(toyKind); err != nil {
			return toy[D]{}, err
		}
	}
	for it := range r.Items("") {
		if is[D, trusting]() {
			_ = it.Payload[:2]
		}
		if is[D, tombstones]() && it.Payload == "" {
			continue
		}
		if it.Payload != toyValue || len(r.Rel(it)) < 2 {
			return toy[D]{}, fmt.Errorf("%w: payload %q at %q", crdt.ErrTypeClash, it.Payload, it.Path)
		}
	}
	v := toy[D]{r: r}
	switch mood++; {
	case is[D, leaking]():
		v.extra = leaked
	case is[D, moody]() && mood%7 == 0:
		v.extra = []string{"?"}
	case is[D, lent]():
		shared = v.fill(shared[:0])
	}
	return v, nil
}

func (v toy[D]) fill(es []string) []string {
	for it := range v.r.Items("") {
		if it.Payload == toyValue {
			es = append(es, v.r.Rel(it)[1:])
		}
	}
	return slices.Compact(es)
}

func (v toy[D]) elements() any {
	if is[D, lent]() {
		return shared
	}
	es := append(v.fill(nil), v.extra...)
	slices.Sort(es)
	return slices.Compact(es)
}

func (toy[D]) Mutator(tx *crdt.Tx) *toyTx[D] {
	m := &toyTx[D]{tx: tx, cache: map[string]bool{}}
	for it := range tx.Items("") {
		m.cache[it.Path[1:]] = true
	}
	return m
}

func toyPath(e string) string { return string([]byte{byte(toyKind)}) + e }

func (m *toyTx[D]) add(e string) error {
	switch {
	case is[D, lazy]() && e == "a":
		return nil
	case is[D, refusing]() && e == "b":
		return errors.New("no b today")
	case is[D, untidy]():
		return m.tx.Put(toyPath(e), toyValue, nil)
	case is[D, abroad]() && e == "c":
		return m.tx.Replace("\x90"+e, toyValue)
	case is[D, leaking]():
		leaked = []string{e}
	}
	return m.tx.Replace(toyPath(e), toyValue)
}

func (m *toyTx[D]) remove(e string) error {
	switch {
	case is[D, greedy]():
		return m.clear()
	case is[D, panicking]() && !m.tx.Has(toyPath(e)):
		panic("not there")
	case is[D, stale]() && !m.cache[e]:
		return nil
	case is[D, tombstones]():
		if err := m.tx.Put(toyPath(fmt.Sprint(e, len(m.tx.Key()), m.tx.Reader().Len())), "", nil); err != nil {
			return err
		}
	case is[D, deaf]():
		var own []crdt.Dot
		for _, it := range m.tx.At(toyPath(e)) {
			if it.Dot.Origin == m.tx.Origin() {
				own = append(own, it.Dot)
			}
		}
		return m.tx.Drop(toyPath(e), own)
	}
	_, err := m.tx.Remove(toyPath(e))
	return err
}

func (m *toyTx[D]) clear() error {
	if !is[D, shuffled]() {
		_, err := m.tx.RemoveAll("")
		return err
	}
	paths := map[string]bool{}
	for it := range m.tx.Items("") {
		paths[it.Path] = true
	}
	for path := range paths {
		if _, err := m.tx.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// toyOp is "+a", "-a" or "0", which clears.
type toyOp string

func (op toyOp) takes(earlier toyOp) bool { return op == "0" || op[1:] == earlier[1:] }

func toyLaws[D any]() Laws[toy[D], *toyTx[D], toyOp] {
	return Laws[toy[D], *toyTx[D], toyOp]{
		Op: rapid.SampledFrom([]toyOp{"+a", "+b", "+c", "-a", "-b", "-c", "0"}),
		Do: func(m *toyTx[D], op toyOp) error {
			switch op[0] {
			case '+':
				return m.add(string(op[1:]))
			case '-':
				return m.remove(string(op[1:]))
			}
			return m.clear()
		},
		Value: func(v toy[D]) any { return v.elements() },
		Model: func(h History[toyOp]) any {
			var es []string
			for _, e := range h.Live(func(later, earlier *Event[toyOp]) bool { return later.Op.takes(earlier.Op) }) {
				if e.Op[0] == '+' && !(is[D, removesWin]() && removedSomewhere(h, e)) {
					es = append(es, string(e.Op[1:]))
				}
			}
			slices.Sort(es)
			return slices.Compact(es)
		},
	}
}

// removedSomewhere reports whether a removal of the element did not see the add, nor the add it.
func removedSomewhere(h History[toyOp], e *Event[toyOp]) bool {
	for r := range h.All() {
		if r.Op[0] != '+' && r.Op.takes(e.Op) && !e.Seen.Has(r) {
			return true
		}
	}
	return false
}
