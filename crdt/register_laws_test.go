package crdt_test

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

func flagLaws() proptest.Laws[crdt.Flag, *crdt.FlagTx, what] {
	return proptest.Laws[crdt.Flag, *crdt.FlagTx, what]{
		Op: rapid.Just(add),
		Do: func(f *crdt.FlagTx, _ what) error {
			err := f.Enable()
			if !f.Enabled() {
				return fmt.Errorf("after it, the transaction reads that it is off")
			}
			return err
		},
		Value: func(f crdt.Flag) any { return f.Enabled() },
		Model: func(h proptest.History[what]) any {
			for range h.All() {
				return true
			}
			return false
		},
	}
}

func ewFlagLaws() proptest.Laws[crdt.EWFlag, *crdt.EWFlagTx, what] {
	return proptest.Laws[crdt.EWFlag, *crdt.EWFlagTx, what]{
		Op: rapid.SampledFrom([]what{add, remove}),
		Do: func(f *crdt.EWFlagTx, op what) (err error) {
			if op == add {
				err = f.Enable()
			} else {
				err = f.Disable()
			}
			if f.Enabled() != (op == add) {
				return fmt.Errorf("after it, the transaction reads Enabled = %v", f.Enabled())
			}
			return err
		},
		Value: func(f crdt.EWFlag) any { return f.Enabled() },
		Model: func(h proptest.History[what]) any {
			return slices.ContainsFunc(h.Live(takesAll[what]),
				func(e *proptest.Event[what]) bool { return e.Op == add })
		},
	}
}

// takesAll is for types of one place.
func takesAll[O any](_, _ *proptest.Event[O]) bool { return true }

// values is all that an MVRegister shows.
type values struct {
	All []string
	Len int
	One string
	OK  bool
}

func mvRegisterLaws() proptest.Laws[crdt.MVRegister[string], *crdt.MVRegisterTx[string], writeOp] {
	return proptest.Laws[crdt.MVRegister[string], *crdt.MVRegisterTx[string], writeOp]{
		Op: drawWrites(1, put, put, put, remove),
		Do: func(m *crdt.MVRegisterTx[string], op writeOp) error {
			if op.What == remove {
				err := m.Remove()
				if m.Value().Len() != 0 {
					return fmt.Errorf("after it, the transaction reads %q", slices.Collect(m.Value().All()))
				}
				return err
			}
			err := m.Put(op.Value)
			if v, ok := m.Value().Get(); !ok || v != op.Value {
				return fmt.Errorf("after it, the transaction reads %q, %v", v, ok)
			}
			return err
		},
		Value: func(m crdt.MVRegister[string]) any {
			v, ok := m.Get()
			return values{slices.Collect(m.All()), m.Len(), v, ok}
		},
		Model: func(h proptest.History[writeOp]) any {
			var vs values
			for _, e := range h.Live(takesAll[writeOp]) {
				if e.Op.What == put {
					vs.All = append(vs.All, e.Op.Value)
				}
			}
			slices.Sort(vs.All)
			vs.All = slices.Compact(vs.All)
			if vs.Len = len(vs.All); vs.Len == 1 {
				vs.One, vs.OK = vs.All[0], true
			}
			return vs
		},
	}
}

// scoreOp puts a score into a Deployed, or removes all.
type scoreOp struct {
	What    what
	Service string
	Version int
}

func wholeLaws() proptest.Laws[crdt.Whole[Deployed], *crdt.WholeTx[Deployed], scoreOp] {
	// known is what a replica had that has seen h: the highest version of each service, of those
	// puts that live, each with all that it had found.
	var known func(h proptest.History[scoreOp]) map[string]int
	memo := map[*proptest.Event[scoreOp]]map[string]int{}
	known = func(h proptest.History[scoreOp]) map[string]int {
		all := map[string]int{}
		for _, e := range h.Live(takesAll[scoreOp]) {
			if e.Op.What == remove {
				continue
			}
			if memo[e] == nil {
				memo[e] = maps.Clone(known(e.Seen))
				memo[e][e.Op.Service] = max(memo[e][e.Op.Service], e.Op.Version)
			}
			for service, version := range memo[e] {
				all[service] = max(all[service], version)
			}
		}
		return all
	}
	return proptest.Laws[crdt.Whole[Deployed], *crdt.WholeTx[Deployed], scoreOp]{
		Op: rapid.Custom(func(t *rapid.T) scoreOp {
			if rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
				return scoreOp{What: remove}
			}
			return scoreOp{
				put, fmt.Sprint("s", rapid.IntRange(0, 2).Draw(t, "service")), rapid.IntRange(1, 5).Draw(t, "version"),
			}
		}),
		Do: func(w *crdt.WholeTx[Deployed], op scoreOp) error {
			if op.What == remove {
				return w.Remove()
			}
			// without what is there, which must not be lost
			if err := w.Put(Deployed{op.Service: op.Version}); err != nil {
				return err
			}
			d, err := w.Get()
			if d[op.Service] < op.Version {
				return fmt.Errorf("after it, the transaction reads %v", d)
			}
			return err
		},
		Value: func(w crdt.Whole[Deployed]) any {
			d, ok := w.Get()
			if ok != (len(d) > 0) {
				return fmt.Sprint(d, ok)
			}
			return map[string]int(d)
		},
		Model: func(h proptest.History[scoreOp]) any { return known(h) },
	}
}
