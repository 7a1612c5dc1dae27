package replicator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// asked runs a read and returns the peers that it asks before any peer answers.
func (n *node) asked(l quorum.Level) (ids []crdt.Origin) {
	w := n.w
	w.quiet()
	w.drop = func(p packet) bool {
		if _, ask := p.msg.(*wire.Ask); ask && p.from == n.id {
			ids = append(ids, p.to)
		}
		return false
	}
	n.get("s", l)
	w.drop = func(packet) bool { return false }
	return ids
}

// A quorum read asks as many as it needs and a spare one, the others when those have not answered
// in time.
func TestReadAsksNoMoreThanItNeedsAndASpare(t *testing.T) {
	w := cluster(t, 7, settings.Config{GossipInterval: time.Hour})
	a := w.nodes[0]
	for _, r := range []struct {
		level quorum.Level
		want  int
	}{
		{quorum.Majority, 4}, {quorum.To(2), 2}, {quorum.MajorityPlus(1, 0), 5}, {quorum.MajorityPlus(1, 7), 6},
		{quorum.All, 6}, {quorum.Local, 0},
	} {
		if got := a.asked(r.level); len(got) != r.want ||
			len(slices.Compact(slices.Sorted(slices.Values(got)))) != r.want {
			t.Errorf("a read at %v asks %v, want %d", r.level, got, r.want)
		}
	}
	w.quiet()
	silent := a.asked(quorum.Majority)
	w.net = nil // no node hears of it
	id := w.seq
	var late []crdt.Origin
	w.drop = func(p packet) bool {
		if _, ask := p.msg.(*wire.Ask); ask {
			late = append(late, p.to)
		}
		return slices.Contains(silent, p.to)
	}
	w.advance(249 * time.Millisecond)
	a.wantOpen(id)
	w.advance(2 * time.Millisecond)
	if slices.Sort(late); !slices.Equal(late, []crdt.Origin{2, 3, 4, 5, 6, 7}) {
		t.Errorf("then it asks %v", late)
	}
	w.drop = func(packet) bool { return false }
	w.advance(time.Second)
	a.want(id, nil)
}

// A joint quorum is asked with as few messages as its members allow.
func TestJointReadAsksThoseOfBothViewsFirst(t *testing.T) {
	w := cluster(t, 3, settings.Config{GossipInterval: time.Hour})
	for id := crdt.Origin(4); id <= 5; id++ {
		w.start(id, nil, uint64(id))
	}
	w.install(with(viewOf(2, 1, 2, 3), 4, 5))
	w.advance(time.Second)
	w.drop = func(packet) bool { return true } // no node settles anything
	w.install(viewOf(3, 1, 2, 3, 4, 5))
	w.net = nil
	for range 20 {
		if got := w.nodes[0].asked(quorum.Majority); len(got) != 3 {
			t.Fatalf("it asks %v: two of the three new ones beside itself would do, and a spare one", got)
		}
	}
}

// Reachable replicas are asked first, and the read does not wait for the others when they are
// enough.
func TestReadAsksTheReachableFirst(t *testing.T) {
	w := cluster(t, 5, settings.Config{GossipInterval: time.Hour})
	a := w.nodes[0]
	for _, id := range []crdt.Origin{2, 4} {
		w.isolate(id)
		a.step(Reachable{id, false})
	}
	for range 20 {
		if got := a.asked(quorum.Majority); !slices.Contains(got, 3) || !slices.Contains(got, 5) {
			t.Fatalf("it asks %v: 3 and 5 are reachable", got)
		}
		w.quiet()
		a.want(w.seq, nil)
	}
	// Neither does a write.
	x := a.put("s", "x", quorum.Majority)
	w.quiet()
	a.want(x, nil)
}

// With PreferOldest a read asks by age, the reachable ones first.
func TestPreferOldestAsksByAge(t *testing.T) {
	w := newWorld(t, 1, settings.Config{PreferOldest: true, GossipInterval: time.Hour})
	v := founded(1)
	for i, id := range []crdt.Origin{1, 2, 3, 4, 5} {
		w.start(id, nil, uint64(id))
		v.Voters = append(v.Voters, replica.Member{ID: id, UpNumber: uint32(10 - i)}) // 5 is the oldest
	}
	w.install(v)
	w.quiet()
	a := w.nodes[0]
	if got := a.asked(quorum.To(3)); !slices.Equal(got, []crdt.Origin{5, 4, 3}) {
		t.Errorf("it asks %v", got)
	}
	a.step(Reachable{4, false})
	if got := a.asked(quorum.To(3)); !slices.Equal(got, []crdt.Origin{5, 3, 2}) {
		t.Errorf("with 4 unreachable it asks %v", got)
	}
}

// Writes pipeline: none waits for another, whatever their levels.
func TestWritesWaitForNoOther(t *testing.T) {
	w := cluster(t, 3, durableD)
	a := w.nodes[0]
	w.isolate(3)
	all := a.put("s", "all", quorum.All)
	slow := a.put("d/s", "slow", quorum.Majority)
	var quick []uint64
	for i := range 20 {
		quick = append(quick, a.put("s", fmt.Sprint(i), []quorum.Level{
			quorum.Majority, quorum.To(2), quorum.MajorityPlus(0, 2), quorum.Local,
		}[i%4]))
	}
	for len(w.net) > 0 {
		w.deliver(0) // no disk answers
	}
	for _, id := range quick {
		a.want(id, nil)
	}
	a.wantOpen(all)
	a.wantOpen(slow)
	w.quiet()
	a.want(slow, nil)
	a.wantOpen(all)
	w.mendAll()
	w.advance(time.Second)
	a.want(all, nil)
}

// A write that has no quorum blocks nothing, and its error says what is known.
func TestTimeoutTellsHowFarItCame(t *testing.T) {
	w := cluster(t, 5, settings.Config{DurableKeys: []string{"d/*"}, OperationTimeout: 3 * time.Second})
	a := w.nodes[0]
	w.isolate(3)
	w.isolate(4)
	w.isolate(5)
	check := func(id uint64, read bool, need, have int, missing ...crdt.Origin) *operation.TimeoutError {
		t.Helper()
		var e *operation.TimeoutError
		if r := a.want(id, operation.ErrTimeout); !errors.As(r.Err, &e) {
			t.Fatalf("%v is no TimeoutError", r.Err)
		}
		if e.Read != read || e.Epoch != 1 || e.Need != need || e.Have != have || !slices.Equal(e.Missing, missing) {
			t.Errorf("%+v, want %d of %d, missing %v", *e, have, need, missing)
		}
		return e
	}
	ids := []uint64{
		a.put("s", "x", quorum.Majority), a.put("s", "y", quorum.All), a.get("s", quorum.Majority),
		a.take("s", "none", quorum.Majority),
	}
	w.advance(4 * time.Second)
	e := check(ids[0], false, 3, 2, 3, 4, 5)
	check(ids[1], false, 5, 2, 3, 4, 5)
	check(ids[2], true, 3, 2, 3, 4, 5)
	check(ids[3], false, 3, 2, 3, 4, 5)
	if want := `2 of the 3 replicas needed of view 1 have it, missing 3 4 5; it is not rolled back`; !strings.Contains(e.Error(), want) {
		t.Errorf("%v\nwant %s", e, want)
	}
	a.disk.bad = true
	broken := a.put("d/s", "x", quorum.Majority)
	w.advance(4 * time.Second)
	e = check(broken, false, 3, 1, 1, 3, 4, 5)
	if !errors.Is(e, operation.ErrStoreFailure) || !errors.Is(e, errDisk) {
		t.Errorf("%v does not say that the disk failed", e)
	}
	w.mendAll()
	w.advance(time.Second)
	for _, n := range w.nodes {
		n.wantSet("s", "x", "y") // not rolled back
	}
}

// In a joint quorum the error counts the view that lacks one.
func TestTimeoutOfAJointQuorumNamesTheOlderView(t *testing.T) {
	w := cluster(t, 3, settings.Config{GossipInterval: time.Hour, OperationTimeout: time.Second})
	for _, id := range []crdt.Origin{4, 5, 6, 7} {
		w.start(id, nil, uint64(id))
	}
	w.install(with(viewOf(2, 1, 2, 3), 4, 5, 6, 7))
	w.advance(2 * time.Second)
	w.isolate(2)
	w.isolate(3)
	w.install(viewOf(3, 1, 2, 3, 4, 5, 6, 7))
	a := w.node(1)
	x := a.put("s", "x", quorum.Majority)
	w.advance(2 * time.Second)
	var e *operation.TimeoutError
	if r := a.want(x, operation.ErrTimeout); !errors.As(r.Err, &e) || e.Epoch != 2 || e.Have != 1 || e.Need != 2 ||
		!slices.Equal(e.Missing, []crdt.Origin{2, 3}) {
		t.Errorf("%+v", e)
	}
	b := w.start(8, nil, 8)
	b.step(Install{viewOf(4, 1, 8)}) // it has never heard of the views before
	b.step(&Receive{1, &wire.Report{Epoch: 4}})
	if e := b.m.timedOut(&operation.Op{Key: "s", Level: quorum.Majority, Seq: 1}); !strings.Contains(e.Error(),
		"not known here yet") {
		t.Errorf("%v", e)
	}
}

// Any change of the voters, two at once too, with writes and reads going on: no read misses what
// was acknowledged before it began.
func TestQuorumsMeetWhileTheMembershipChanges(t *testing.T) {
	one := func(n int) (ids []crdt.Origin) {
		for i := range n {
			ids = append(ids, crdt.Origin(i+1))
		}
		return ids
	}
	for _, c := range []struct{ from, to []crdt.Origin }{
		{one(3), one(5)}, {one(5), one(3)}, {one(5), []crdt.Origin{3, 4, 5}}, {one(2), one(4)}, {one(4), one(2)},
		{one(3), []crdt.Origin{3, 4, 5}},
		{one(1), one(3)},
	} {
		t.Run(fmt.Sprintf("%v to %v", c.from, c.to), func(t *testing.T) {
			for seed := range uint64(8) {
				changing(t, seed, c.from, c.to)
			}
		})
	}
}

// changing writes and reads while the voters change from one set to another, in random order.
func changing(t *testing.T, seed uint64, from, to []crdt.Origin) {
	w := newWorld(t, seed, settings.Config{
		DurableKeys: []string{"d/*"}, GossipInterval: 200 * time.Millisecond, RetryInterval: 20 * time.Millisecond,
	})
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(from, to))))
	for _, id := range all {
		w.start(id, nil, uint64(id))
	}
	w.install(founded(1, from...))
	w.quiet()
	var views []replica.View
	if learners := slices.DeleteFunc(slices.Clone(to), func(id crdt.Origin) bool {
		return slices.Contains(from, id)
	}); len(learners) > 0 {
		w.install(with(viewOf(2, from...), learners...))
		w.advance(time.Second)
		views = append(views, viewOf(3, to...))
	} else {
		views = append(views, viewOf(2, to...))
	}
	type write struct {
		by        *node
		id        uint64
		key, elem string
	}
	type read struct {
		by   *node
		id   uint64
		key  string
		must []string
	}
	var writes []write
	var reads []read
	for i := range 400 {
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		key := []string{"s", "d/s"}[w.rng.IntN(2)]
		switch w.rng.IntN(12) {
		case 0, 1:
			e := fmt.Sprint("e", i)
			writes = append(writes, write{n, n.put(key, e, quorum.Majority), key, e})
		case 2, 3:
			r := read{by: n, key: key}
			for _, x := range writes {
				if res, ok := x.by.results[x.id]; ok && res.Err == nil && x.key == key {
					r.must = append(r.must, x.elem)
				}
			}
			r.id = n.get(key, quorum.Majority)
			reads = append(reads, r)
		case 4:
			if v := views[0]; i > 100 && n.m.site.View.Epoch < v.Epoch {
				n.step(Install{v})
			}
		case 5:
			n.persist()
		case 6:
			w.now = w.now.Add(5 * time.Millisecond)
			n.step(Tick{})
		default:
			if len(w.net) > 0 {
				w.deliver(w.rng.IntN(min(len(w.net), 4)))
			}
		}
	}
	w.install(views[0])
	w.advance(10 * time.Second)
	for _, r := range reads {
		res, ok := r.by.results[r.id]
		if !ok {
			t.Fatalf("seed %d: read #%d of %s is not answered", seed, r.id, wire.Short(r.by.id))
		}
		for _, e := range r.must {
			if res.Err == nil && !slices.Contains(elems(t, res.Reader), e) {
				t.Fatalf("seed %d: read #%d at %s misses %s", seed, r.id, wire.Short(r.by.id), e)
			}
		}
	}
	acked := 0
	for _, x := range writes {
		if res := x.by.results[x.id]; res.Err == nil {
			acked++
			for _, id := range to {
				if !slices.Contains(w.node(id).set(x.key), x.elem) {
					t.Fatalf("seed %d: %s lacks %s, acknowledged to %s",
						seed, wire.Short(id), x.elem, wire.Short(x.by.id))
				}
			}
		}
	}
	if acked < 10 || len(reads) < 10 || w.node(to[0]).m.Settled() != views[0].Epoch {
		t.Fatalf("seed %d: %d writes acknowledged, %d reads, settled %d",
			seed, acked, len(reads), w.node(to[0]).m.Settled())
	}
}
