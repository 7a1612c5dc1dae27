package calls

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// judge watches a machine from outside: what was submitted, what is called, and what is done.
type judge struct {
	t      *rapid.T
	cfg    Settings
	m      *Machine
	now    time.Time
	calls  []*Call
	open   []*Op // not done, in their order
	done   map[*Op]bool
	ended  map[Hosting]bool
	fenced map[Hosting]bool
	n      int
}

func (j *judge) step(in Input) {
	fx := j.m.Step(j.now, in)
	j.m.checkInvariants()
	for _, d := range fx.Done {
		if j.done[d.Op] {
			j.t.Fatalf("%v is done twice", d.Op)
		}
		j.done[d.Op] = true
		j.open = slices.DeleteFunc(j.open, func(o *Op) bool { return o == d.Op })
	}
	for _, c := range fx.Start {
		j.begins(c)
		j.calls = append(j.calls, c)
	}
}

// begins checks a call that begins.
func (j *judge) begins(c *Call) {
	if j.ended[c.Hosting] {
		j.t.Fatalf("%v: the hosting has ended", c)
	}
	if c.Kind != Fence && !j.fenced[c.Hosting] {
		j.t.Fatalf("%v without a fence", c)
	}
	if len(j.calls) >= j.cfg.InFlightMax {
		j.t.Fatalf("%v beside %d others", c, len(j.calls))
	}
	for _, other := range j.calls {
		if other.Hosting == c.Hosting && other.Kind == c.Kind && c.Kind != Fence {
			j.t.Fatalf("%v beside %v", c, other)
		}
	}
	bytes := 0
	for _, o := range c.Ops {
		bytes += o.Bytes
		if j.done[o] {
			j.t.Fatalf("%v is done and called", o)
		}
		for _, before := range j.open {
			if before == o {
				break
			}
			if before.Entity == o.Entity && before.Hosting == o.Hosting && comesBefore(before.Kind, o.Kind) {
				j.t.Fatalf("%v before %v", o, before)
			}
		}
	}
	if len(c.Ops) > j.cfg.BatchMax || len(c.Ops) > 1 && (bytes > j.cfg.BytesMax || !kinds[c.Kind].many) {
		j.t.Fatalf("%v is too large: %d bytes", c, bytes)
	}
}

// comesBefore reports whether Ops of an entity of these kinds keep their order: of one kind, and a
// deletion after the writes of what it deletes.
func comesBefore(before, k Kind) bool {
	return before == k || before == Append && k == Delete || before == SaveSnapshot && k == DeleteSnapshots
}

func (j *judge) returns(t *rapid.T) {
	if len(j.calls) == 0 {
		return
	}
	i := rapid.IntRange(0, len(j.calls)-1).Draw(t, "call")
	r := Returned{Call: j.calls[i]}
	j.calls = slices.Delete(j.calls, i, i+1)
	r.Outcome = rapid.SampledFrom([]Outcome{
		Succeeded, Succeeded, Succeeded, Succeeded, Unknown, Unknown, Hopeless, Fenced,
	}).Draw(t, "outcome")
	if r.Outcome != Succeeded {
		r.Err = errors.New("failed")
	}
	if n := len(r.Call.Ops); n > 0 && rapid.Bool().Draw(t, "settles") {
		r.Settled = []Settled{{Index: rapid.IntRange(0, n-1).Draw(t, "index"), Err: errors.New("refused")}}
	}
	switch {
	case r.Outcome == Fenced:
		j.ended[r.Call.Hosting] = true
	case r.Outcome == Succeeded && r.Call.Kind == Fence:
		j.fenced[r.Call.Hosting] = true
	}
	j.step(r)
}

func (j *judge) submit(t *rapid.T) {
	j.n++
	o := &Op{
		Hosting: drawHosting(t), Kind: Kind(rapid.IntRange(0, int(Fence)-1).Draw(t, "kind")),
		Entity: protocol.EntityID(fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "entity"))), Value: j.n,
		Bytes: rapid.IntRange(0, 60).Draw(t, "bytes"),
	}
	if !j.full(o) {
		j.endsBelow(o.Hosting)
	}
	j.open = append(j.open, o)
	j.step(Submit{o})
}

// endsBelow notes that the hostings before one have ended.
func (j *judge) endsBelow(h Hosting) {
	for h.Token.Seq--; h.Token.Seq > 0; h.Token.Seq-- {
		j.ended[h] = true
	}
}

// full reports whether there is no room for an Op, so that it begins no hosting.
func (j *judge) full(o *Op) bool {
	bytes := o.Bytes
	for _, other := range j.open {
		bytes += other.Bytes
	}
	return len(j.open) == j.cfg.WaitingMax || bytes > j.cfg.WaitingBytes && len(j.open) > 0
}

func drawHosting(t *rapid.T) Hosting {
	return Hosting{
		Shard: protocol.ShardID(rapid.IntRange(0, 2).Draw(t, "shard")),
		Token: singleton.FencingToken{Epoch: 1, Seq: uint64(rapid.IntRange(1, 4).Draw(t, "token"))},
	}
}

// pass lets time pass, and the machine look at it.
func (j *judge) pass(d time.Duration) {
	j.now = j.now.Add(d)
	if at := j.m.Deadline(); !at.IsZero() && !at.After(j.now) {
		j.step(Tick{})
		if at := j.m.Deadline(); !at.IsZero() && !at.After(j.now) {
			j.t.Fatalf("after a tick the deadline is %v ago", j.now.Sub(at))
		}
	}
	j.step(Flush{})
	for _, o := range j.open {
		if !j.now.Before(o.until) {
			j.t.Fatalf("%v waits for too long", o)
		}
	}
}

// TestMachine steps a machine with random inputs, and ends with a store that answers everything:
// then everything is done.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := &judge{
			t: t, now: time.Unix(0, 0), done: map[*Op]bool{}, ended: map[Hosting]bool{}, fenced: map[Hosting]bool{},
			cfg: Settings{
				InFlightMax: rapid.IntRange(1, 3).Draw(t, "calls"), BatchMax: rapid.IntRange(1, 4).Draw(t, "batch"),
				BytesMax: 100, WaitingMax: 20, WaitingBytes: 500,
				Linger: time.Duration(rapid.IntRange(0, 20).Draw(t, "linger")) * time.Millisecond,
			},
		}
		j.m = New(j.cfg, [3]int{})
		t.Repeat(map[string]func(*rapid.T){
			"submit": j.submit,
			"again":  j.submit,
			"more":   j.submit,
			"return": j.returns,
			"answer": j.returns,
			"flush":  func(*rapid.T) { j.step(Flush{}) },
			"pass": func(t *rapid.T) {
				j.pass(time.Duration(rapid.IntRange(1, 300).Draw(t, "ms")) * time.Millisecond)
			},
			"hang": func(t *rapid.T) { j.pass(time.Duration(rapid.IntRange(1, 20).Draw(t, "s")) * time.Second) },
			"end": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					h := drawHosting(t)
					j.endsBelow(h)
					j.ended[h] = true
					j.step(End{h})
				}
			},
		})
		if rapid.Bool().Draw(t, "close") {
			j.step(Close{})
			if len(j.open) > 0 {
				t.Fatalf("%d are not done after Close", len(j.open))
			}
			return
		}
		j.drain()
	})
}

// drain answers everything, for as long as anything is open.
func (j *judge) drain() {
	for rounds := 0; len(j.open) > 0; rounds++ {
		if rounds > 1000 {
			j.t.Fatalf("%v is never done", j.open[0])
		}
		j.pass(100 * time.Millisecond)
		for len(j.calls) > 0 {
			c := j.calls[0]
			j.calls = j.calls[1:]
			if c.Kind == Fence {
				j.fenced[c.Hosting] = true
			}
			j.step(Returned{Call: c})
		}
	}
}
