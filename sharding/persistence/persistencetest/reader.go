package persistencetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// all asks for every event of the type at hand.
func (l *law) all() persistence.Query {
	return persistence.Query{Type: l.typ()} // a query that names no slices has all
}

// read returns at most some events of a query; 0 is no limit.
func read(t tb, d Door, q persistence.Query, most int) (out []persistence.Recorded) {
	t.Helper()
	for r, err := range d.Reader.Events(t.Context(), q) {
		must(t, err)
		r.Event = cloneEvent(r.Event)
		if out = append(out, r); len(out) == most {
			break
		}
	}
	return out
}

// names prints the entity and the number of each event.
func names(events []persistence.Recorded) (out []string) {
	for _, r := range events {
		out = append(out, name(r.Entity, r.Event.Seq))
	}
	return out
}

func name(id protocol.EntityID, seq uint64) string { return fmt.Sprintf("%q %d", string(id), seq) }

// ordered checks that the events of each entity are the ones after those that were seen, in order.
func ordered(t tb, seen map[protocol.EntityID]uint64, events []persistence.Recorded) {
	t.Helper()
	for _, r := range events {
		if want := seen[r.Entity] + 1; r.Event.Seq != want {
			t.Fatalf("event %d of %v comes after %d", r.Event.Seq, r.Entity, want-1)
		}
		seen[r.Entity]++
	}
}

// fill appends five events to each of some entities, in three writes, in a mixed order.
func fill(l *law, h persistence.Hosting, ids []protocol.EntityID) {
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	stored(l, l.store.A, h, writesOf(ids, 0, "1")...)
	stored(l, l.store.B, h, writesOf(ids, 1, "2", "3")...)
	slices.Reverse(ids)
	stored(l, l.store.A, h, writesOf(ids, 3, "4", "5")...)
}

func writesOf(ids []protocol.EntityID, after uint64, bodies ...string) (out []persistence.Write) {
	for _, id := range ids {
		out = append(out, write(id, after, after+1, bodies...))
	}
	return out
}

// readerRanges: a query for slices that there are not, or for none, fails.
func readerRanges(l *law) {
	fill(l, l.hosting(0, 1), []protocol.EntityID{"a"})
	for _, r := range [][2]int{{-1, 1}, {3, 3}, {4, 3}, {0, persistence.SliceCount + 1}, {persistence.SliceCount, 0}} {
		q, answered := l.all(), false
		q.First, q.End = r[0], r[1]
		for _, err := range l.store.A.Reader.Events(l.Context(), q) {
			if answered = true; err == nil {
				l.Fatalf("there is an event in the slices %d up to %d", q.First, q.End)
			}
		}
		if !answered {
			l.Fatalf("a query for the slices %d up to %d ends without an error", q.First, q.End)
		}
	}
}

// readerSelects: a query finds the events of its type, its slices and its tag, and no others.
func readerSelects(l *law) {
	other := l.hosting(0, 1)
	fill(l, other, []protocol.EntityID{"of the other type"})
	l.next()
	if got := read(l, l.store.A, l.all(), 0); len(got) > 0 {
		l.Fatalf("a type without events has %v", names(got))
	}
	ids := slices.Clone(strangeIDs)
	fill(l, l.hosting(0, 1), ids)
	l.again()
	everything := read(l, l.store.B, l.all(), 0)
	seen := map[protocol.EntityID]uint64{}
	ordered(l, seen, everything)
	if len(everything) != 5*len(ids) {
		l.Fatalf("%d events, want %d", len(everything), 5*len(ids))
	}
	for _, r := range everything {
		if !sameEvent(r.Event, event(r.Event.Seq, fmt.Sprint(r.Event.Seq))) {
			l.Fatalf("event %v of %v", r.Event, r.Entity)
		}
	}
	var parts, tagged []string
	for first := 0; first < persistence.SliceCount; first += 64 {
		q := l.all()
		q.First, q.End = first, first+64
		for _, r := range read(l, l.store.A, q, 0) {
			if s := persistence.SliceOf(string(r.Entity)); s < first || s > first+63 {
				l.Fatalf("%v is in slice %d, not in %d to %d", r.Entity, s, first, first+63)
			}
			parts = append(parts, name(r.Entity, r.Event.Seq))
		}
	}
	same(l, "the slices together", parts, names(everything))
	even := slices.DeleteFunc(slices.Clone(everything), func(r persistence.Recorded) bool { return r.Event.Seq%2 != 0 })
	for _, tag := range even[0].Event.Tags {
		q := l.all()
		q.Tag = tag
		tagged = names(read(l, l.store.A, q, 0))
		same(l, "the events with a tag", tagged, names(even))
	}
	must(l, l.store.A.Journal.Delete(l.Context(), l.hosting(0, 1), ids[0], 4))
	if got := read(l, l.store.B, l.all(), 0); len(got) != len(everything)-4 {
		l.Fatalf("%d events after a deletion of 4 of %d", len(got), len(everything))
	}
}

// same compares without regard to the order.
func same(t tb, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

// readerResumes: behind each offset come the events that come behind it in one go, also after a
// stop, for smaller ranges of slices, and for events that were appended later.
func readerResumes(l *law) {
	h := l.hosting(0, 1)
	fill(l, h, []protocol.EntityID{"a", "b", "c", "d", "e"})
	everything := read(l, l.store.A, l.all(), 0)
	if len(everything) != 5*5 {
		l.Fatalf("%d events, want %d", len(everything), 5*5)
	}
	l.again()
	for i, r := range everything {
		q := l.all()
		q.After = r.Offset
		same(l, fmt.Sprint("behind event ", i), names(read(l, l.store.B, q, 0)), names(everything[i+1:]))
		q.First = persistence.SliceOf("c")
		q.End = q.First + 1
		rest := slices.DeleteFunc(slices.Clone(everything[i+1:]), func(r persistence.Recorded) bool {
			return persistence.SliceOf(string(r.Entity)) != q.First
		})
		same(l, fmt.Sprint("of one slice behind event ", i), names(read(l, l.store.A, q, 0)), names(rest))
	}
	q := l.all()
	q.After = everything[len(everything)-1].Offset
	must(l, l.store.A.Journal.Delete(l.Context(), h, "a", 5))
	l.again()
	stored(l, l.store.A, h, write("a", 5, 9, "6"), write("f", 0, 9, "1"))
	same(l, "what was appended after a deletion", names(read(l, l.store.B, q, 0)), []string{name("a", 6), name("f", 1)})
	q.After = "no offset of any store"
	for _, err := range l.store.A.Reader.Events(l.Context(), q) {
		if err == nil {
			l.Fatalf("an event behind something that is no offset")
		}
		return
	}
	l.Fatalf("a query behind something that is no offset ends without an error")
}

// readerLag is how long a reader may be behind writers at most. Others that use a server may hold it up.
const readerLag = 5 * time.Second

// readerMeanwhile: writers of several shards append at both doors. A reader that breaks off and
// goes on all the time sees each event once, in the order of its entity.
func readerMeanwhile(l *law) {
	const writers, writes = 8, 40
	var all sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		all.Go(func() { errs[i] = appendSome(l, l.doors()[i%2], protocol.ShardID(i), writes) })
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	defer all.Wait()
	seen, q, total := map[protocol.EntityID]uint64{}, l.all(), 0
	var limit <-chan time.Time // for what was written
	looks := time.NewTicker(10 * time.Millisecond)
	defer looks.Stop()
	for n, over := 1, false; total < writers*writes*2 && !over; n++ {
		some := read(l, l.doors()[n%2], q, n%7)
		ordered(l, seen, some)
		if total += len(some); len(some) > 0 {
			q.After = some[len(some)-1].Offset
			continue
		}
		select {
		case <-ended:
			ended, limit = nil, time.After(readerLag)
		case <-limit:
			over = true
		case <-looks.C:
		}
	}
	all.Wait()
	must(l, errors.Join(errs...))
	ordered(l, seen, read(l, l.doors()[0], q, 0))
	for i := range writers {
		if n := seen[writerID(i)]; n != writes*2 {
			l.Fatalf("%d events of %v were seen, want %d", n, writerID(i), writes*2)
		}
	}
}

// appendSome fences a shard, and appends writes of two events to one entity.
func appendSome(l *law, d Door, shard protocol.ShardID, writes uint64) error {
	h, id := l.hosting(shard, 1), writerID(int(shard))
	if err := d.Journal.Fence(l.Context(), h); err != nil {
		return err
	}
	for n := range writes {
		refused, err := d.Journal.Append(l.Context(), h, []persistence.Write{write(id, 2*n, n, "x", "y")})
		if err != nil {
			return err
		}
		if len(refused) > 0 {
			return refused[0].Err
		}
	}
	return nil
}

// readerLive: a live query finds what there is and what comes, at either door, and ends with its
// context.
func readerLive(l *law) {
	const writes = 10
	ctx, cancel := context.WithCancel(l.Context())
	defer cancel()
	q := l.all()
	q.Live = true
	found := make(chan persistence.Recorded)
	var failed error // of the query; read when found is closed. A faulty query ends without one
	go func() {
		defer close(found)
		for r, err := range l.store.B.Reader.Events(ctx, q) {
			if err != nil {
				failed = err
				return
			}
			r.Event = cloneEvent(r.Event)
			select {
			case found <- r:
			case <-l.Context().Done():
				return
			}
		}
	}()
	h, seen := l.hosting(0, 1), map[protocol.EntityID]uint64{}
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	for n := range uint64(writes) {
		stored(l, l.doors()[n%2], h, write("e", 2*n, n, "x", "y"))
		for range 2 {
			select {
			case r, ok := <-found:
				if !ok {
					l.Fatalf("the query ended: %v", failed)
				}
				ordered(l, seen, []persistence.Recorded{r})
			case <-time.After(readerLag):
				l.Fatalf("an event of write %d does not come within %v", n, readerLag)
			}
		}
	}
	cancel()
	for r := range found {
		l.Fatalf("event %d of %v came twice", r.Event.Seq, r.Entity)
	}
	if failed != nil {
		l.Fatalf("the query ended with %v", failed)
	}
}

// readerDamage: a damaged event is told of with its entity, number and offset. The query goes on after
// it, and so does one that begins at its offset.
func readerDamage(l *law) {
	if l.store.Damage == nil {
		return
	}
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	for n := range uint64(4) {
		stored(l, l.store.A, h, writesOf([]protocol.EntityID{"a", "b"}, n, fmt.Sprint(n+1))...)
	}
	must(l, l.store.Damage(l.typ(), "a", 2))
	want := []string{name("a", 1), name("a", 3), name("a", 4), name("b", 1), name("b", 2), name("b", 3), name("b", 4)}
	for _, live := range []bool{false, true} {
		var whole, after []string
		var damaged []persistence.Recorded
		q := l.all()
		q.Live = live
		for r, err := range l.store.B.Reader.Events(l.Context(), q) {
			switch {
			case err == nil:
				if whole = append(whole, name(r.Entity, r.Event.Seq)); len(damaged) > 0 {
					after = append(after, name(r.Entity, r.Event.Seq))
				}
			case r.Offset == "" || !errors.Is(err, persistence.ErrDamaged):
				l.Fatalf("live %v: a damaged event ends the query, with %v", live, err)
			default:
				damaged = append(damaged, r)
			}
			if live && len(whole)+len(damaged) == 8 {
				break
			}
		}
		same(l, "the other events", whole, want)
		if len(damaged) != 1 || damaged[0].Entity != "a" || damaged[0].Event.Seq != 2 {
			l.Fatalf("live %v: damaged are %v", live, names(damaged))
		}
		q.After, q.Live = damaged[0].Offset, false
		same(l, "after the damaged event", names(read(l, l.store.A, q, 0)), after)
	}
}
