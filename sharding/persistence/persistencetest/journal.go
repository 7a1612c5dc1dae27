package persistencetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// fencedCalls makes every call of a hosting that is over.
func fencedCalls(t tb, d Door, h persistence.Hosting, w persistence.Write) {
	t.Helper()
	none := func(int, persistence.Event) error { return errors.New("an event for a hosting that is over") }
	refused, err := d.Journal.Append(t.Context(), h, []persistence.Write{w})
	is(t, "Append", err, persistence.ErrFenced)
	if len(refused) > 0 {
		t.Fatalf("a call that is fenced has refusals: %v", refused)
	}
	_, err = d.Journal.Load(t.Context(), h, []persistence.Read{{Entity: w.Entity}}, none)
	is(t, "Load", err, persistence.ErrFenced)
	is(t, "Delete", d.Journal.Delete(t.Context(), h, w.Entity, math.MaxUint64), persistence.ErrFenced)
	is(t, "Fence", d.Journal.Fence(t.Context(), h), persistence.ErrFenced)
}

// journalFenced: after Fence each call with a lower token gets ErrFenced, at each door, and those of
// other shards and types do not.
func journalFenced(l *law) {
	a, b := l.store.A, l.store.B
	const top = 40
	for token := uint64(1); token <= top; token += 3 {
		h := l.hosting(7, token)
		must(l, a.Journal.Fence(l.Context(), h))
		must(l, b.Journal.Fence(l.Context(), h))
		stored(l, a, h, write("e", (token-1)/3, token, fmt.Sprint(token)))
		for lower := range token {
			fencedCalls(l, b, l.hosting(7, lower), write("e", (token-1)/3+1, lower, "late"))
			fencedCalls(l, a, l.hosting(7, lower), write("other", 0, lower, "late"))
		}
	}
	last, other := l.hosting(7, top), l.hosting(8, 0)
	want(l, b, last, "other", 0)
	if events, _ := load(l, b, last, "e", 0); len(events) != (top+2)/3 {
		l.Fatalf("%d events, want %d", len(events), (top+2)/3)
	}
	must(l, a.Journal.Fence(l.Context(), other))
	stored(l, b, other, write("of shard 8", 0, 1, "x"))
	other = l.hosting(7, 0)
	other.Type += "'"
	must(l, b.Journal.Fence(l.Context(), other))
	stored(l, a, other, write("e", 0, 1, "of the other type"))
	want(l, a, other, "e", 0, "of the other type")
	l.again()
	fencedCalls(l, l.store.A, l.hosting(7, top-4), write("e", 14, 1, "late"))
}

// journalFencedMeanwhile: writers append at one door until they are fenced, and give some calls up.
// What the next owner finds after its Fence stays all that there is of them.
func journalFencedMeanwhile(l *law) {
	for range 20 {
		l.next()
		fencedOnce(l)
	}
}

func fencedOnce(l *law) {
	const writers = 8
	old, now := l.hosting(3, 5), l.hosting(3, 6)
	must(l, l.store.A.Journal.Fence(l.Context(), old))
	ctx, cancel := context.WithCancel(l.Context())
	var all, begun sync.WaitGroup
	defer all.Wait()
	defer cancel()
	acked, errs := make([]uint64, writers), make([]error, writers)
	begun.Add(writers)
	for i := range writers {
		all.Go(func() { acked[i], errs[i] = untilFenced(ctx, l.store.A, old, writerID(i), begun.Done) })
	}
	begun.Wait()
	must(l, l.store.B.Journal.Fence(l.Context(), now))
	var found [writers]int
	for i := range writers {
		events, _ := load(l, l.store.B, now, writerID(i), 0)
		found[i] = len(events)
		stored(l, l.store.B, now, write(writerID(i), uint64(found[i]), 1, "mine"))
	}
	all.Wait()
	for i := range writers {
		is(l, "a writer", errs[i], persistence.ErrFenced)
		if uint64(found[i]) < acked[i] {
			l.Fatalf("%d events were acknowledged, and the next owner found %d", acked[i], found[i])
		}
		events, _ := load(l, l.store.B, now, writerID(i), 0)
		if len(events) != found[i]+1 || string(events[found[i]].Body) != "mine" {
			l.Fatalf("after the fence there were %d events, and after the next owner's one there are %d",
				found[i], len(events))
		}
	}
}

func writerID(i int) protocol.EntityID { return protocol.EntityID(fmt.Sprint("writer ", i)) }

// untilFenced appends to an entity. Every third call is given up at some moment, and then repeated.
func untilFenced(
	ctx context.Context, d Door, h persistence.Hosting, id protocol.EntityID, begun func(),
) (acked uint64, err error) {
	begun = sync.OnceFunc(begun)
	defer begun()
	for n := uint64(0); ; n++ {
		w := write(id, acked, n+1, "theirs")
		if n%3 == 2 {
			brief, cancel := context.WithCancel(ctx)
			var all sync.WaitGroup
			all.Go(cancel)
			_, _ = d.Journal.Append(brief, h, []persistence.Write{w})
			all.Wait()
		}
		refused, err := d.Journal.Append(ctx, h, []persistence.Write{w})
		if err != nil {
			return acked, err
		}
		if len(refused) > 0 {
			return acked, refused[0].Err
		}
		if acked++; acked == 3 {
			begun()
		}
	}
}

// journalRepeated: a repeated write is answered as stored, at each door and after a stop, and is
// there once. Another one in its place is in conflict.
func journalRepeated(l *law) {
	h := l.hosting(0, 9)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	first, second := write("e", 0, 77, "1", "2"), write("e", 2, 78, "3")
	for range 3 {
		stored(l, l.store.A, h, first)
		stored(l, l.store.B, h, first, write("f", 0, 77, "f"))
	}
	refusal(l, l.store.B, h, write("e", 0, 78, "1", "2"), persistence.ErrConflict)
	l.again()
	stored(l, l.store.B, h, first)
	want(l, l.store.A, h, "e", 0, "1", "2")
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	stored(l, l.store.A, h, first)
	stored(l, l.store.A, h, second)
	must(l, l.store.B.Journal.Delete(l.Context(), h, "e", 3))
	stored(l, l.store.B, h, second)
	refusal(l, l.store.A, h, write("e", 2, 79, "3"), persistence.ErrConflict)
	l.again()
	stored(l, l.store.B, h, second)
	later := l.hosting(0, 10)
	must(l, l.store.B.Journal.Fence(l.Context(), later))
	refusal(l, l.store.A, later, second, persistence.ErrConflict)
	refusal(l, l.store.A, later, write("f", 0, 77, "f"), persistence.ErrConflict)
	want(l, l.store.A, later, "e", 3)
	want(l, l.store.A, later, "f", 0, "f")
}

// journalWhole: no load sees a part of a write.
func journalWhole(l *law) {
	const writes, each = 30, 50
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	bodies := make([]string, each)
	for i := range bodies {
		bodies[i] = strings.Repeat("x", 100)
	}
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := uint64(0); n < writes && err == nil; n++ {
			var refused []persistence.Refusal
			if refused, err = l.store.A.Journal.Append(l.Context(), h,
				[]persistence.Write{write("e", n*each, n, bodies...)}); len(refused) > 0 {
				err = refused[0].Err
			}
		}
	}()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		events, end := load(l, l.store.B, h, "e", 0)
		if len(events)%each != 0 || end.Last != uint64(len(events)) {
			l.Fatalf("%d events up to number %d, of writes of %d", len(events), end.Last, each)
		}
	}
	must(l, err)
	want(l, l.store.B, h, "e", 0, bytesOf(writes*each, bodies[0])...)
}

func bytesOf(n int, body string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = body
	}
	return out
}

// journalRefusals: each write of a call has an outcome of its own.
func journalRefusals(l *law) {
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	stored(l, l.store.A, h, write("a", 0, 1, "a1"))
	large := write("large", 0, 2, "fits", "")
	large.Events[1].Body = make([]byte, persistence.BodyMax+1)
	refused, err := l.store.B.Journal.Append(l.Context(), h, []persistence.Write{
		large, write("b", 0, 3, "b1"), write("a", 0, 4, "other"), write("c", 0, 5, "c1", "c2"), write("d", 1, 6, "gap"),
		write("f", math.MaxUint64, 7, "wrap"), write("g", 0, 8, "g1"),
	})
	must(l, err)
	wants := map[int]error{
		0: persistence.ErrTooLarge, 2: persistence.ErrConflict, 4: persistence.ErrConflict, 5: persistence.ErrConflict,
	}
	for _, r := range refused {
		if wants[r.Index] == nil {
			l.Fatalf("write %d was refused: %v", r.Index, r.Err)
		}
		is(l, fmt.Sprint("write ", r.Index), r.Err, wants[r.Index])
		delete(wants, r.Index)
	}
	if len(wants) > 0 {
		l.Fatalf("not refused: %v", wants)
	}
	for _, id := range []protocol.EntityID{"large", "d", "f"} {
		want(l, l.store.A, h, id, 0)
	}
	want(l, l.store.A, h, "a", 0, "a1")
	want(l, l.store.A, h, "b", 0, "b1")
	want(l, l.store.A, h, "c", 0, "c1", "c2")
	want(l, l.store.A, h, "g", 0, "g1")
}

// journalDeletions: what is deleted stays away, and the numbers go on.
func journalDeletions(l *law) {
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	remove := func(upTo uint64) { must(l, l.store.A.Journal.Delete(l.Context(), h, "e", upTo)) }
	remove(5)
	want(l, l.store.B, h, "e", 0)
	stored(l, l.store.A, h, write("e", 0, 1, "1", "2", "3"), write("f", 0, 1, "f"))
	remove(0)
	want(l, l.store.B, h, "e", 0, "1", "2", "3")
	remove(2)
	remove(2)
	remove(1)
	want(l, l.store.B, h, "e", 2, "3")
	remove(math.MaxUint64)
	want(l, l.store.B, h, "e", 3)
	refusal(l, l.store.B, h, write("e", 0, 2, "1"), persistence.ErrConflict)
	l.again()
	want(l, l.store.A, h, "e", 3)
	stored(l, l.store.B, h, write("e", 3, 3, "4", "5"))
	want(l, l.store.A, h, "e", 3, "4", "5")
	for after, n := range []int{2, 2, 2, 2, 1, 0, 0} {
		if events, _ := load(l, l.store.A, h, "e", uint64(after)); len(events) != n {
			l.Fatalf("%d events after %d, want %d", len(events), after, n)
		}
	}
	want(l, l.store.A, h, "f", 0, "f")
}

// journalLimits: what is at a limit is stored, and what is above it is refused.
func journalLimits(l *law) {
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	name, longer := strings.Repeat("é", persistence.NameMax/2)+"x", strings.Repeat("n", persistence.NameMax+1)
	most := write("most", 0, 1, "")
	most.Events[0] = persistence.Event{
		Seq: 1, Name: name, Version: math.MaxUint32, Body: bytes.Repeat([]byte{0xff}, persistence.BodyMax), At: start,
	}
	for i := range persistence.TagsMax {
		most.Events[0].Tags = append(most.Events[0].Tags, fmt.Sprintf("%02d%s", i, name[2:]))
	}
	stored(l, l.store.A, h, most)
	events, _ := load(l, l.store.B, h, "most", 0)
	if len(events) != 1 || !sameEvent(events[0], most.Events[0]) {
		l.Fatalf("an event at the limits was not loaded as it was")
	}
	for what, change := range map[string]func(*persistence.Event){
		"a body": func(e *persistence.Event) { e.Body = make([]byte, persistence.BodyMax+1) },
		"a name": func(e *persistence.Event) { e.Name = longer },
		"a tag":  func(e *persistence.Event) { e.Tags = []string{longer} },
		"tags": func(e *persistence.Event) {
			e.Tags = append(slices.Clone(most.Events[0].Tags), "z")
		},
	} { // order: each is refused by itself
		w := write("e", 0, 2, "1", "2")
		change(&w.Events[1])
		l.Logf("%s", what)
		refusal(l, l.store.A, h, w, persistence.ErrTooLarge)
	}
	refusal(l, l.store.A, h, write("e", 0, 3), persistence.ErrTooLarge)
	refusal(l, l.store.A, h, write("e", 0, 3, bytesOf(persistence.EventsMax+1, "x")...), persistence.ErrTooLarge)
	_, err := l.store.A.Journal.Append(l.Context(), h, manyWrites(persistence.WritesMax+1))
	is(l, "a call with too many writes", err, persistence.ErrTooLarge)
	want(l, l.store.B, h, "0", 0)
	long := h
	long.Type = longer
	_, err = l.store.A.Journal.Append(l.Context(), long, manyWrites(1))
	is(l, "the name of a type", err, persistence.ErrTooLarge)
	want(l, l.store.B, h, "e", 0)
}

func manyWrites(n int) []persistence.Write {
	writes := make([]persistence.Write, n)
	for i := range writes {
		writes[i] = write(protocol.EntityID(fmt.Sprint(i)), 0, 1, "x")
	}
	return writes
}

// journalStrange: ids of any bytes are entities of their own; names and bodies may be empty.
func journalStrange(l *law) {
	h := l.hosting(math.MaxInt32, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	var writes []persistence.Write
	for i, id := range strangeIDs {
		w := write(id, 0, uint64(i), fmt.Sprint(i), "")
		w.Events[1].Name, w.Events[1].Body = "", nil
		w.Events[1].Tags = []string{" ", "%", "'", ",", "{}", "\\"}
		writes = append(writes, w)
	}
	stored(l, l.store.A, h, writes...)
	l.again()
	for i, id := range strangeIDs {
		events, _ := load(l, l.store.B, h, id, 0)
		if !slices.EqualFunc(events, writes[i].Events, sameEvent) {
			l.Fatalf("entity %v: %v, want %v", id, events, writes[i].Events)
		}
	}
}

// journalGivenUp: calls with a context that has ended fail with its error, and may be repeated.
func journalGivenUp(l *law) {
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	ended, cancel := context.WithCancel(l.Context())
	cancel()
	w := write("e", 0, 1, "1")
	_, appended := l.store.A.Journal.Append(ended, h, []persistence.Write{w})
	is(l, "Append", appended, context.Canceled)
	_, loaded := l.store.A.Journal.Load(ended, h, []persistence.Read{{Entity: "e"}},
		func(int, persistence.Event) error { return nil })
	is(l, "Load", loaded, context.Canceled)
	is(l, "Delete", l.store.A.Journal.Delete(ended, h, "e", 1), context.Canceled)
	is(l, "Fence", l.store.A.Journal.Fence(ended, l.hosting(0, 1)), context.Canceled)
	stored(l, l.store.B, h, w)
	want(l, l.store.A, h, "e", 0, "1")
}

// journalLarge: a call has as many writes, and a write as many events, as they may have.
func journalLarge(l *law) {
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	stored(l, l.store.A, h, manyWrites(persistence.WritesMax)...)
	stored(l, l.store.A, h, manyWrites(persistence.WritesMax)...)
	stored(l, l.store.A, h, write("one", 0, 1, bytesOf(persistence.EventsMax, "event")...))
	reads := make([]persistence.Read, persistence.WritesMax)
	for i := range reads {
		reads[i].Entity = protocol.EntityID(fmt.Sprint(i))
	}
	counts := make([]int, len(reads))
	ends, err := l.store.B.Journal.Load(l.Context(), h, reads, func(i int, e persistence.Event) error {
		counts[i]++
		return nil
	})
	must(l, err)
	for i, n := range counts {
		if n != 1 || ends[i].Last != 1 {
			l.Fatalf("entity %d has %d events, and ends with %+v", i, n, ends[i])
		}
	}
	want(l, l.store.B, h, "one", 0, bytesOf(persistence.EventsMax, "event")...)
	must(l, l.store.A.Journal.Delete(l.Context(), h, "one", persistence.EventsMax-1))
	want(l, l.store.B, h, "one", persistence.EventsMax-1, "event")
}

// journalManyShards: shards are fenced and written at one time through both doors.
func journalManyShards(l *law) {
	const shards, writes = 48, 5
	var all sync.WaitGroup
	errs := make([]error, shards)
	for i := range shards {
		all.Go(func() {
			d, h := l.doors()[i%2], l.hosting(protocol.ShardID(i), 1)
			errs[i] = d.Journal.Fence(l.Context(), h)
			for n := uint64(0); n < writes && errs[i] == nil; n++ {
				refused, err := d.Journal.Append(l.Context(), h, []persistence.Write{
					write(protocol.EntityID(fmt.Sprint("e", i)), n, n, fmt.Sprint(n)),
					write(protocol.EntityID(fmt.Sprint("f", i)), n, n, fmt.Sprint(n)),
				})
				if errs[i] = err; len(refused) > 0 {
					errs[i] = refused[0].Err
				}
			}
		})
	}
	all.Wait()
	must(l, errors.Join(errs...))
	for i := range shards {
		want(l, l.doors()[(i+1)%2], l.hosting(protocol.ShardID(i), 1), protocol.EntityID(fmt.Sprint("e", i)), 0,
			"0", "1", "2", "3", "4")
	}
}

// journalMemory: slices are the caller's again after a call, and an error of a function ends a load.
func journalMemory(l *law) {
	h := l.hosting(0, 1)
	must(l, l.store.A.Journal.Fence(l.Context(), h))
	w := write("e", 0, 1, "1", "2", "3")
	stored(l, l.store.A, h, w)
	w.Events[0].Body[0], w.Events[1].Tags[0] = 'x', "x"
	w.Events[2] = persistence.Event{}
	stop := errors.New("enough")
	calls := 0
	_, err := l.store.A.Journal.Load(l.Context(), h, []persistence.Read{{Entity: "e"}, {Entity: "e"}},
		func(_ int, e persistence.Event) error {
			if calls++; calls == 2 {
				return stop
			}
			e.Body[0] = 'y'
			return nil
		})
	is(l, "Load", err, stop)
	if calls != 2 {
		l.Fatalf("%d calls of a function that fails at its second", calls)
	}
	want(l, l.store.A, h, "e", 0, "1", "2", "3")
	events, _ := load(l, l.store.B, h, "e", 1)
	if !sameEvent(events[0], event(2, "2")) {
		l.Fatalf("got %v", events[0])
	}
}
