package replicator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/read"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// call is one operation of a history of one set. It adds an element that no other call adds,
// removes an element that was seen, or reads.
type call struct {
	kind     callKind
	elem     int
	from, to int    // moments of its beginning and its end; to is never for one that was not answered
	saw      uint64 // of a read: the elements, as bits
}

type callKind int

const (
	adds callKind = iota
	removes
	observe
)

const never = 1 << 30

// history is what clients asked for and were told. It knows sets, and nothing of events or clocks.
type history []call

// anomalies looks at pairs: a regular history misses nothing that was acknowledged before a read
// began, a monotone one never goes back from one read to a later one, in a comparable one of any
// two reads one saw all that the other did. Elements that are removed are left out.
func (h history) anomalies() (regular, monotone, comparable bool) {
	var gone uint64
	for _, c := range h {
		if c.kind == removes {
			gone |= 1 << c.elem
		}
	}
	regular, monotone, comparable = true, true, true
	for i, r := range h {
		if r.kind != observe {
			continue
		}
		for j, c := range h {
			switch c.kind {
			case adds:
				if bit := uint64(1) << c.elem; c.to < r.from && r.saw&bit == 0 && gone&bit == 0 {
					regular = false
				}
			case observe:
				if i == j {
					continue
				}
				a, b := c.saw&^gone, r.saw&^gone
				monotone = monotone && (c.to > r.from || a&^b == 0)
				comparable = comparable && (a&^b == 0 || b&^a == 0)
			}
		}
	}
	return regular, monotone, comparable
}

// linearizable looks for one order of all calls, each somewhere between its beginning and its end,
// in which every read sees just what was added and not removed before. A call that was not answered
// may have happened at any time since it began, or not at all.
func (h history) linearizable() bool {
	seen := map[uint64]bool{}
	var place func(done, set, added uint64) bool
	place = func(done, set, added uint64) bool {
		if seen[done] {
			return false
		}
		seen[done] = true
		first := never // no call may be placed that began after another that is not placed had ended
		for i, c := range h {
			if done&(1<<i) == 0 {
				first = min(first, c.to)
			}
		}
		if first == never {
			return true
		}
		for i, c := range h {
			bit := uint64(1) << c.elem
			if done&(1<<i) != 0 || c.from > first {
				continue
			}
			switch c.kind {
			case adds:
				if place(done|1<<i, set|bit, added|bit) {
					return true
				}
			case removes:
				if added&bit != 0 && place(done|1<<i, set&^bit, added) { // another call may have removed it too
					return true
				}
			case observe:
				if set == c.saw && place(done|1<<i, set, added) {
					return true
				}
			}
		}
		return false
	}
	return place(0, 0, 0)
}

func TestTheHistoryCheckerSeesWhatItShould(t *testing.T) {
	add := func(e, from, to int) call { return call{kind: adds, elem: e, from: from, to: to} }
	rem := func(e, from, to int) call { return call{kind: removes, elem: e, from: from, to: to} }
	read := func(from, to int, es ...int) call {
		c := call{kind: observe, from: from, to: to}
		for _, e := range es {
			c.saw |= 1 << e
		}
		return c
	}
	for _, c := range []struct {
		name                          string
		h                             history
		regular, monotone, comparable bool
		linearizable                  bool
	}{
		{"in order", history{add(0, 1, 2), read(3, 4, 0), add(1, 5, 6), read(7, 8, 0, 1)}, true, true, true, true},
		{"missed", history{add(0, 1, 2), read(3, 4)}, false, true, true, false},
		{"went back", history{add(0, 1, never), read(2, 3, 0), read(4, 5)}, true, false, true, false},
		{"overlapping", history{add(0, 1, never), read(2, 5, 0), read(3, 4)}, true, true, true, true},
		{"each sees one", history{add(0, 1, never), add(1, 1, never), read(2, 5, 0), read(2, 5, 1)},
			true, true, false, false},
		{"not before it began", history{read(1, 2, 0), add(0, 3, 4)}, true, true, true, false},
		{"removed", history{add(0, 1, 2), rem(0, 3, never), read(4, 5), read(6, 7)}, true, true, true, true},
		{"came back", history{add(0, 1, 2), rem(0, 3, never), read(4, 5), read(6, 7, 0)}, true, true, true, false},
		{"later write seen without the earlier",
			history{add(0, 1, 4), add(1, 5, 6), read(2, 9, 1)}, true, true, true, false},
	} {
		r, m, p := c.h.anomalies()
		if l := c.h.linearizable(); r != c.regular || m != c.monotone || p != c.comparable || l != c.linearizable {
			t.Errorf("%s: regular %v, monotone %v, comparable %v, linearizable %v", c.name, r, m, p, l)
		}
	}
}

// play lets four clients add, remove and read at random while packets arrive in any order, some of
// them lost, and other keys change.
func play(t *testing.T, seed uint64, nodes int, level quorum.Level, key string, removal bool) history {
	w := cluster(t, nodes, settings.Config{
		DurableKeys: []string{"d/*"}, GossipInterval: 100 * time.Millisecond, RetryInterval: 10 * time.Millisecond,
		GapDelay: time.Millisecond,
	})
	w.rng = rand.New(rand.NewPCG(seed, uint64(nodes)))
	const clients, most = 4, 20
	slow, lossy := 24+24*w.rng.IntN(3), 2+w.rng.IntN(60)
	var h history
	busy := map[int]int{} // by client, the index of its call
	ids := map[int]uint64{}
	next := 0
	finish := func(now int) {
		for c := range clients {
			i, out := busy[c]
			if !out {
				continue
			}
			n := w.nodes[c%nodes]
			r, ok := n.results[ids[i]]
			if !ok {
				continue
			}
			delete(busy, c)
			if r.Err != nil {
				continue // it may still happen
			}
			h[i].to = now
			if h[i].kind == observe {
				for _, e := range elems(t, r.Reader) {
					var k int
					fmt.Sscan(e, &k)
					h[i].saw |= 1 << k
				}
			}
		}
	}
	for now := range 2500 {
		finish(now)
		c := w.rng.IntN(clients)
		n := w.nodes[c%nodes]
		_, out := busy[c]
		switch k := w.rng.IntN(slow); {
		case k < 3 && !out && len(h) < most:
			i := len(h)
			switch seen := n.set(key); {
			case k == 0:
				h = append(h, call{kind: observe, from: now, to: never})
				ids[i] = n.get(key, level)
			case k == 1 && removal && len(seen) > 0:
				e := seen[w.rng.IntN(len(seen))]
				var elem int
				fmt.Sscan(e, &elem)
				h = append(h, call{kind: removes, elem: elem, from: now, to: never})
				ids[i] = n.take(key, e, quorum.Majority)
			default:
				h = append(h, call{kind: adds, elem: next, from: now, to: never})
				ids[i] = n.put(key, fmt.Sprint(next), quorum.Majority)
				next++
			}
			if busy[c] = i; h[i].kind != observe && w.rng.IntN(100) < 15 {
				delete(busy, c) // the client gives up on it
			}
		case k == 3 && w.rng.IntN(3) == 0:
			n.put("other", fmt.Sprint("noise", now), quorum.Local)
		case k == 4:
			w.now = w.now.Add(time.Duration(w.rng.IntN(2000)) * time.Microsecond)
			n.step(Tick{})
		case k == 5:
			n.persist()
		case len(w.net) == 0 || k > 14:
		case w.rng.IntN(lossy) == 0:
			w.net = slices.Delete(w.net, 0, 1)
		default:
			w.deliver(w.rng.IntN(len(w.net)))
		}
	}
	w.advance(time.Second)
	finish(2500)
	w.advance(10 * time.Second)
	finish(2501)
	for _, c := range h {
		if c.kind == observe && c.to == never {
			t.Fatalf("seed %d: a read is not answered\n%s", seed, w.dump())
		}
	}
	return slices.DeleteFunc(h, func(c call) bool { return c.kind == observe && c.to == never })
}

// What reads give together with writes at Majority, by histories of random interleavings: at
// Majority they are regular, and neither monotone across nodes nor comparable, as those of the
// reference; at Linearizable there is always an order that explains all.
func TestLinearizableReadsAreLinearizable(t *testing.T) {
	const histories = 25
	plain := 0
	for _, nodes := range []int{3, 5} {
		for _, key := range []string{"s", "d/s"} {
			for _, removal := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d nodes %s removes %v", nodes, key, removal), func(t *testing.T) {
					var bad [2][4]int
					for i, level := range []quorum.Level{quorum.Majority, quorum.Linearizable} {
						for seed := range uint64(histories) {
							h := play(t, seed, nodes, level, key, removal)
							r, m, c := h.anomalies()
							for k, ok := range []bool{r, m, c, h.linearizable()} {
								if !ok {
									bad[i][k]++
								}
							}
							if level == quorum.Linearizable && bad[i] != [4]int{} {
								t.Fatalf("seed %d: %+v", seed, h)
							}
						}
					}
					t.Logf("of %d histories, not regular, monotone, comparable, linearizable: at Majority %v, at "+
						"Linearizable %v", histories, bad[0], bad[1])
					if plain += bad[0][3]; bad[0][0] != 0 {
						t.Error("a read at Majority misses what was acknowledged before it began")
					}
				})
			}
		}
	}
	if plain == 0 {
		t.Error("at Majority all were linearizable: this test sees nothing")
	}
}

// What came and went at one replica looks, item by item, like what never came at another. A read
// that took the two for the same would go before a removal that it has seen; the next one would
// find the element again.
func TestLinearizableReadTellsWhatWentFromWhatNeverCame(t *testing.T) {
	w := cluster(t, 3, settings.Config{
		GossipInterval: time.Hour, RetryInterval: time.Hour, OperationTimeout: 24 * time.Hour,
	})
	x, y, z := w.nodes[0], w.nodes[1], w.nodes[2]
	w.isolate(1)
	b := y.put("s", "b", quorum.Majority)
	w.quiet()
	y.want(b, nil)
	w.isolate(2)
	z.take("s", "b", quorum.Local)
	if !x.m.Snapshot(keyspace.Volatile).View("s").Empty() || !z.m.Snapshot(keyspace.Volatile).View("s").Empty() {
		t.Fatal("both hold nothing")
	}
	w.mend(1, 3)
	w.drop = func(p packet) bool { // they only talk of reads
		switch p.msg.(type) {
		case *wire.Compare, *wire.Compared:
			return false
		}
		return true
	}
	w.net = nil
	r := z.get("s", quorum.Linearizable)
	w.quiet()
	z.wantOpen(r)
	r = x.get("s", quorum.Linearizable)
	w.quiet()
	x.wantOpen(r)
}

// One round trip is enough while the key does not change, even if other keys change. Clocks travel
// as differences (R12).
func TestLinearizableReadTakesOneRoundTripWhileOtherKeysChange(t *testing.T) {
	w := cluster(t, 3, settings.Config{GossipInterval: time.Hour, RetryInterval: time.Hour})
	a := w.nodes[0]
	a.put("s", "x", quorum.All)
	w.quiet()
	var asked, largest int
	for i := range 50 {
		for _, n := range w.nodes {
			n.put(fmt.Sprint("other", i%7), fmt.Sprint(i), quorum.Local)
			n.take(fmt.Sprint("other", i%7), fmt.Sprint(i-1), quorum.Local)
		}
		w.drop = func(p packet) bool { // the writes are on their way all the time
			if c, ok := p.msg.(*wire.Compare); ok {
				asked++
				largest = max(largest, len(wire.Append(nil, c)))
			}
			_, push := p.msg.(*wire.Push)
			return push && i%2 == 0
		}
		r := a.get("s", quorum.Linearizable)
		for len(w.net) > 0 {
			w.deliver(w.rng.IntN(len(w.net)))
		}
		if got := elems(t, a.want(r, nil).Reader); len(got) != 1 {
			t.Fatalf("read %v", got)
		}
	}
	if asked != 2*50 {
		t.Errorf("%d questions for 50 reads, want one to each of the two others", asked)
	}
	if largest > 140 {
		t.Errorf("a question of %d bytes", largest)
	}
	// A member that has lost what it was told gets the whole clock once.
	w.node(2).m.site.Peer(1).Link(keyspace.Volatile).Theirs = crdt.Clock{}
	w.isolate(3)
	asked = 0
	r := a.get("s", quorum.Linearizable)
	w.quiet()
	a.want(r, nil)
	if asked != 2 {
		t.Errorf("2 was asked %d times", asked)
	}
}

// In the durable space only what is committed counts: what was read survives a crash of everything.
func TestLinearizableReadWaitsForTheDisks(t *testing.T) {
	w := cluster(t, 3, durableD)
	a, b, c := w.nodes[0], w.nodes[1], w.nodes[2]
	a.put("d/s", "x", quorum.Local)
	r := b.get("d/s", quorum.Linearizable) // b has not heard of it
	for range 50 {
		for len(w.net) > 0 {
			w.deliver(0)
		}
		w.now = w.now.Add(time.Millisecond)
		for _, n := range w.nodes {
			n.step(Tick{})
		}
	}
	r2 := b.get("d/s", quorum.Linearizable)
	for len(w.net) > 0 {
		w.deliver(0)
	}
	b.wantOpen(r2) // all have it in memory, none on disk
	c.persist()
	for len(w.net) > 0 {
		w.deliver(0)
	}
	b.wantOpen(r2)
	r3 := a.get("d/s", quorum.Linearizable)
	for len(w.net) > 0 {
		w.deliver(0)
	}
	a.wantOpen(r3) // its own state is not on its own disk
	a.persist()
	w.advance(100 * time.Millisecond)
	b.want(r, nil)
	if got := elems(t, b.want(r2, nil).Reader); len(got) != 1 {
		t.Fatalf("read %v", got)
	}
}

// The reads of different keys, and those of one key that begin together, share questions.
func TestLinearizableReadsShareQuestions(t *testing.T) {
	w := cluster(t, 3, settings.Config{GossipInterval: time.Hour})
	a := w.nodes[0]
	asked := 0
	w.drop = func(p packet) bool {
		if _, ok := p.msg.(*wire.Compare); ok {
			asked++
		}
		return false
	}
	var ids []uint64
	for i := range 300 {
		ids = append(ids, a.get(fmt.Sprint("key", i%(read.ComparedMax+10)), quorum.Linearizable))
	}
	w.quiet()
	for _, id := range ids {
		a.want(id, nil)
	}
	if asked != 3*2 { // the first read alone, then 64 keys, then the rest
		t.Errorf("%d questions", asked)
	}
	a.want(a.put("s", "x", quorum.Linearizable), operation.ErrLevel)
}

// A linearizable read is answered under a new view too. Its time-out names the members that do not
// agree.
func TestLinearizableReadGoesOnUnderTheNextView(t *testing.T) {
	w := cluster(t, 3, settings.Config{GossipInterval: time.Hour, OperationTimeout: time.Second})
	a := w.nodes[0]
	w.isolate(1)
	r := a.get("s", quorum.Linearizable)
	w.advance(2 * time.Second)
	var e *operation.TimeoutError
	if res := a.want(r, operation.ErrTimeout); !errors.As(res.Err, &e) || e.Have != 1 || e.Need != 2 ||
		!slices.Equal(e.Missing, []crdt.Origin{2, 3}) {
		t.Fatalf("%+v", e)
	}
	w.start(4, nil, 4)
	w.install(with(viewOf(2, 1, 2, 3), 4))
	r = a.get("s", quorum.Linearizable)
	w.mendAll()
	w.advance(500 * time.Millisecond)
	a.want(r, nil)
	w.isolate(2)
	w.isolate(3)
	r = a.get("s", quorum.Linearizable)
	w.install(viewOf(3, 1, 2, 3, 4))
	w.quiet()
	a.wantOpen(r) // 1 and 4 are no quorum of the view before
	w.mendAll()
	w.advance(time.Second)
	a.want(r, nil)
	w.isolate(1)
	r = a.get("s", quorum.Linearizable)
	a.step(Install{viewOf(4, 2, 3, 4)})
	a.want(r, operation.ErrNoView)
}

// R15: Votes given under another view do not count.
func TestLinearizableReadCountsNoVoteOfAnotherView(t *testing.T) {
	w := cluster(t, 3, settings.Config{GossipInterval: time.Hour, OperationTimeout: time.Minute})
	w.start(4, nil, 4)
	w.start(5, nil, 5)
	w.install(with(viewOf(2, 1, 2, 3), 4, 5))
	w.advance(time.Second)
	w.isolate(1)
	for _, id := range []crdt.Origin{2, 3, 4, 5} {
		w.node(id).step(Install{viewOf(3, 1, 2, 3, 4, 5)})
	}
	w.advance(5 * time.Second)
	w.isolate(2)
	x := w.node(3).put("s", "x", quorum.Majority)
	w.quiet()
	w.node(3).want(x, nil)
	w.mend(1, 2) // 1 still has the view of three, in which 1 and 2 are a majority
	r := w.node(1).get("s", quorum.Linearizable)
	w.advance(5 * time.Second)
	w.node(1).wantOpen(r)
	w.mendAll()
	w.node(1).step(Install{viewOf(3, 1, 2, 3, 4, 5)})
	w.advance(5 * time.Second)
	if got := elems(t, w.node(1).want(r, nil).Reader); len(got) != 1 {
		t.Fatalf("read %v", got)
	}
}

// When a view is settled, the older views need not vote any more. But a member that voted before
// may have had none of their content.
func TestLinearizableReadAsksAnewWhenAViewIsSettled(t *testing.T) {
	w, next := grown(t)
	w.install(next)
	n := w.node(4)
	var old crdt.Origin // the last that was asked of 1, 2 and 3
	var question uint64
	w.log = func(_ string, args ...any) {
		env, _ := args[len(args)-1].(effect.Envelope)
		if c, ok := env.Msg.(*wire.Compare); ok && env.To <= 3 && args[0] == wire.Short(n.id) {
			old, question = env.To, c.ID
		}
	}
	r := n.get("s", quorum.Linearizable)
	w.advance(300 * time.Millisecond) // 5, 6 and 7 have nothing either
	n.wantOpen(r)
	n.step(&Receive{5, &wire.Holdings{Epoch: 3, Spaces: [keyspace.Count]wire.Summary{{Settled: 3}, {Settled: 3}}}})
	late := &crdt.Clock{}
	late.AddRange(1, 1, 1)
	n.step(&Receive{old, &wire.Compared{Epoch: 3, ID: question, Known: true, Extra: late, Differ: []uint32{0}}})
	n.wantOpen(r)
}
