package dots

import (
	"bytes"
	"math"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"pgregory.net/rapid"
)

func decode(b []byte) (*Clock, error) {
	r := cbor.NewReader(b)
	c := Read(r)
	return c, r.End()
}

// The places at which sets of closed origins are looked at: around everything that is drawn.
var (
	origins = []Origin{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 << 40, math.MaxUint64 - 1, math.MaxUint64}
	seqs    = []uint64{
		1, 2, 3, 4, 5, 6, 1000, SeqMax - 1, SeqMax,
		Dot{Seq: 1}.Moved(1).Seq, Dot{Seq: 3}.Moved(1).Seq, closedTo(1), Dot{Seq: 2}.Moved(2).Seq, closedTo(2),
	}
)

// points are those of the places that a set has.
type points map[Dot]bool

func (p points) add(first, last Origin, from, to uint64) {
	for _, o := range origins {
		for _, s := range seqs {
			if first <= o && o <= last && from <= s && s <= to {
				p[Dot{o, s}] = true
			}
		}
	}
}

// drawClosed draws a clock of which some origins are over, and says what it has.
func drawClosed(t *rapid.T) (*Clock, points) {
	c, p := &Clock{}, points{}
	for range rapid.IntRange(0, 8).Draw(t, "parts") {
		o := rapid.SampledFrom(origins).Draw(t, "origin")
		if rapid.Bool().Draw(t, "one") {
			i := rapid.IntRange(0, len(seqs)-1).Draw(t, "seq")
			from, to := seqs[i], seqs[min(i+rapid.IntRange(0, 2).Draw(t, "more"), len(seqs)-1)]
			c.AddRange(o, from, to)
			p.add(o, o, from, to)
			continue
		}
		last := rapid.SampledFrom(origins).Draw(t, "last")
		moves := rapid.Uint16Range(0, 2).Draw(t, "moves")
		if rapid.Bool().Draw(t, "closed") {
			c.Close(o, last, moves)
			p.add(o, last, 1, closedTo(moves))
			continue
		}
		// neighbours that have the same, and are not over
		d := Dot{Seq: rapid.SampledFrom(seqs[:3]).Draw(t, "event")}.Moved(moves)
		for _, x := range []Origin{o, o + 1} {
			c.AddRange(x, d.Seq, d.Seq)
			p.add(x, x, d.Seq, d.Seq)
		}
	}
	return c, p
}

// mustHave compares a set with its points, and with its form.
func mustHave(t *rapid.T, what string, c *Clock, has func(Dot) bool) {
	t.Helper()
	for _, o := range origins {
		for _, s := range seqs {
			if d := (Dot{o, s}); c.Has(d) != has(d) {
				t.Fatalf("%s: %v has %v: %v", what, c, d, c.Has(d))
			}
		}
	}
	for i := range c.rows {
		r := &c.rows[i]
		if r.empty() || r.last < r.first || r.Wide() && !r.closed() ||
			i > 0 && (c.rows[i-1].last >= r.first || r.follows(&c.rows[i-1])) {
			t.Fatalf("%s: %v is not in its one form", what, c)
		}
	}
	raw := c.Append(nil)
	if back, err := decode(raw); err != nil || !back.Equal(c) || back.Hash() != c.Hash() || len(raw) != c.Size() {
		t.Fatalf("%s: %v comes back as %v, %v", what, c, back, err)
	}
}

// Sets of which some origins are over are sets as others are.
func TestClosedOriginsAreSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, pa := drawClosed(t)
		b, pb := drawClosed(t)
		mustHave(t, "a", a, func(d Dot) bool { return pa[d] })
		j := a.Clone()
		j.Join(b)
		mustHave(t, "join", j, func(d Dot) bool { return pa[d] || pb[d] })
		k := b.Clone()
		k.Join(a)
		if !j.Equal(k) || !bytes.Equal(j.Append(nil), k.Append(nil)) || !j.Includes(a) || !j.Includes(b) {
			t.Fatalf("%v joined with %v: %v, and the other way %v", a, b, j, k)
		}
		less := a.Minus(b)
		mustHave(t, "minus", less, func(d Dot) bool { return pa[d] && !pb[d] })
		if a.Includes(b) != b.Minus(a).Empty() || less.Equal(a) != a.And(b).Empty() {
			t.Fatalf("%v includes %v: %v", a, b, a.Includes(b))
		}
		mustHave(t, "and", a.And(b), func(d Dot) bool { return pa[d] && pb[d] })
		less.Join(a.And(b))
		if !less.Equal(a) {
			t.Fatalf("%v without %v and with it is %v", a, b, less)
		}
		at := Dot{rapid.SampledFrom(origins).Draw(t, "at"), rapid.SampledFrom(seqs).Draw(t, "seq")}
		upTo, after := a.UpTo(at), a.After(at)
		mustHave(t, "up to", upTo, func(d Dot) bool { return pa[d] && d.Compare(at) <= 0 })
		mustHave(t, "after", after, func(d Dot) bool { return pa[d] && d.Compare(at) > 0 })
		upTo.Join(after)
		first, rest := a.CutBytes(rapid.IntRange(0, 60).Draw(t, "bytes"))
		if rest = rest.Clone(); first.Empty() != a.Empty() || !first.And(rest).Empty() {
			t.Fatalf("%v was cut into %v and %v", a, first, rest)
		}
		rest.Join(first)
		single, closed := a.Parted()
		for r := range single.Ranges() {
			if r.Through != 0 {
				t.Fatalf("%v is no single origin's", r)
			}
		}
		closed.Join(single)
		if !upTo.Equal(a) || !rest.Equal(a) || !closed.Equal(a) {
			t.Fatalf("%v was cut, and came together as %v, %v and %v", a, upTo, rest, closed)
		}
		mustHave(t, "a is untouched", a, func(d Dot) bool { return pa[d] })
		mustHave(t, "of", a.Of(at.Origin), func(d Dot) bool { return pa[d] && d.Origin == at.Origin })
	})
}

// Neighbours that are not over and have the same are no run, also if some of what they have was moved. The
// difference of two clocks has a form, too.
func TestMovedItemsOfNeighbours(t *testing.T) {
	both, moved := &Clock{}, &Clock{}
	for _, o := range []Origin{2, 3} {
		d := Dot{o, 1}
		both.Add(d)
		both.Add(d.Moved(1))
		moved.Add(d.Moved(1))
	}
	for _, c := range []*Clock{both, moved, both.Minus(moved)} {
		for r := range c.Ranges() {
			if r.Through != 0 {
				t.Errorf("%v has a run of origins", c)
			}
		}
		if back, err := decode(c.Append(nil)); err != nil || !back.Equal(c) {
			t.Errorf("%v comes back as %v, %v", c, back, err)
		}
	}
}

// What was moved of origins that are over, and nothing else, is a run as they are.
func TestDifferenceOfClosedOrigins(t *testing.T) {
	before, after := &Clock{}, &Clock{}
	before.Close(1, 9, 0)
	after.Close(1, 9, 2)
	moved := after.Minus(before)
	for _, c := range []*Clock{moved, after.Minus(moved), moved.And(after)} {
		if back, err := decode(c.Append(nil)); err != nil || !back.Equal(c) || len(c.rows) != 1 {
			t.Errorf("%v comes back as %v, %v", c, back, err)
		}
	}
	if !after.Minus(moved).Equal(before) {
		t.Errorf("%v without %v is %v", after, moved, after.Minus(moved))
	}
}

// Two hundred thousand origins take a few bytes when they are over, and the few among them that are
// not take theirs.
func TestClosedOriginsCostNothing(t *testing.T) {
	const n = 200_000
	var c Clock
	for i := range Origin(n) {
		c.AddRange(1+i*1_000_003, 1, uint64(i)+1)
	}
	before := c.Size()
	living := []Origin{1 + 70*1_000_003, 1 + 150_000*1_000_003}
	from := Origin(0)
	for _, o := range living {
		c.Close(from, o-1, 0)
		from = o + 1
	}
	c.Close(from, n*1_000_003, 0)
	if got := c.Size(); got > 120 || before < 10*n/2 {
		t.Errorf("%d bytes, %d before: %v", got, before, &c)
	}
	for i := range Origin(n) {
		if d := (Dot{1 + i*1_000_003, uint64(i) + 1}); !c.Has(d) {
			t.Fatalf("%v is lost", d)
		}
	}
	for _, o := range living {
		if seq := c.Max(o) + 1; c.Has(Dot{o, seq}) || c.Base(o) != seq-1 {
			t.Errorf("%v is over", o)
		}
	}
	t.Logf("%d bytes, %d before", c.Size(), before)
}

func TestClosedOriginsPrint(t *testing.T) {
	var c Clock
	c.Close(1, 3, 0)
	c.AddRange(2, closedTo(0)+1, closedTo(0)+2)
	if got, want := c.String(), "{0000000000000001:1-281474976710655 0000000000000002:1-281474976710657 "+
		"0000000000000003:1-281474976710655}"; got != want {
		t.Error(got)
	}
	c.Close(0, 9, 1)
	if got, want := c.String(), "{0000000000000000-0000000000000009:1-562949953421311}"; got != want {
		t.Error(got)
	}
}

// What is no set in its one form is refused.
func TestClosedRowsInOtherForms(t *testing.T) {
	row := func(words ...uint64) []byte {
		b := cbor.AppendArray(nil, len(words))
		for _, w := range words {
			b = cbor.AppendUint(b, w)
		}
		return b
	}
	of := func(rows ...[]byte) []byte { return append(cbor.AppendArray(nil, len(rows)), bytes.Join(rows, nil)...) }
	if _, err := decode(of(row(1, 2, SeqMax), row(5, SeqMax))); err != nil {
		t.Error(err)
	}
	for name, b := range map[string][]byte{
		"one origin":      of(row(1, 0, SeqMax)),
		"not over":        of(row(1, 2, SeqMax-1)),
		"more than over":  of(row(1, 2, SeqMax+2)),
		"a moved item":    of(row(1, 2, 0, SeqMax+1, 1)),
		"nothing":         of(row(1, 2, 0)),
		"beyond the last": of(row(math.MaxUint64, 1, SeqMax)),
		"overlap":         of(row(1, 2, SeqMax), row(3, 5)),
		"two that are one": of(row(1, 2, SeqMax),
			row(4, SeqMax)),
	} {
		if c, err := decode(b); err == nil {
			t.Errorf("%s: %v", name, c)
		}
	}
}

func FuzzRead(f *testing.F) {
	var c Clock
	c.AddRange(7, 3, 9)
	c.Close(1, 5, 0)
	c.Close(8, 1<<50, 2)
	f.Add(c.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decode(b)
		if err == nil && !bytes.Equal(c.Append(nil), b) {
			t.Fatalf("%v has two encodings", c)
		}
	})
}

// TestCloseRunsInOrder: to close one run of origins after the other makes room as a list does that
// grows, and copies no row for each.
func TestCloseRunsInOrder(t *testing.T) {
	const runs = 1000
	if n := testing.AllocsPerRun(10, func() {
		c := &Clock{}
		for i := range Origin(runs) {
			c.Close(3*i, 3*i+1, 0)
		}
	}); n > 30 {
		t.Errorf("%v allocations to close %d runs", n, runs)
	}
}
