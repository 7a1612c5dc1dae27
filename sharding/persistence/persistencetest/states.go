package persistencetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func stateWrite(id protocol.EntityID, after, wid uint64, body string) persistence.StateWrite {
	e := event(after+1, body)
	return persistence.StateWrite{Entity: id, After: after, ID: wid, State: persistence.State{
		Revision: after + 1, Name: e.Name, Version: e.Version, Body: e.Body, Tags: e.Tags, At: e.At,
	}}
}

func deletion(id protocol.EntityID, after, wid uint64) persistence.StateWrite {
	return persistence.StateWrite{Entity: id, After: after, ID: wid,
		State: persistence.State{Revision: after + 1, Deleted: true, At: start}}
}

func sameState(a, b persistence.State) bool {
	return a.Revision == b.Revision && a.Deleted == b.Deleted && a.Name == b.Name && a.Version == b.Version &&
		bytes.Equal(a.Body, b.Body) && slices.Equal(a.Tags, b.Tags) && a.At.Equal(b.At)
}

// kept saves states, and returns the refusals.
func kept(t tb, d Door, h persistence.Hosting, writes ...persistence.StateWrite) []persistence.Refusal {
	t.Helper()
	refused, err := d.States.SaveStates(t.Context(), h, writes)
	must(t, err)
	return refused
}

// stateOf loads the state of an entity: none, or one.
func stateOf(t tb, d Door, h persistence.Hosting, id protocol.EntityID) (found []persistence.State) {
	t.Helper()
	must(t, d.States.LoadStates(t.Context(), h, []protocol.EntityID{id}, func(i int, s persistence.State) error {
		s.Body, s.Tags = bytes.Clone(s.Body), slices.Clone(s.Tags)
		found = append(found, s)
		return nil
	}))
	if len(found) > 1 {
		t.Fatalf("%d states of one entity", len(found))
	}
	return found
}

// stateModel is what is known of one entity.
type stateModel struct {
	last  persistence.StateWrite
	token uint64
}

// stateHistories replaces, deletes and repeats, against a model that is the last write.
func stateHistories(l *law) {
	rapid.Check(l.tb, func(rt *rapid.T) {
		l.next()
		token, wid := uint64(1), uint64(0)
		must(rt, l.store.A.States.Fence(rt.Context(), l.hosting(6, token)))
		model := map[protocol.EntityID]*stateModel{}
		for _, id := range modelIDs {
			model[id] = &stateModel{}
		}
		for range rapid.IntRange(1, 20).Draw(rt, "calls") {
			if rapid.IntRange(0, 5).Draw(rt, "fence") == 0 {
				token++
				must(rt, l.store.B.States.Fence(rt.Context(), l.hosting(6, token)))
			}
			var writes []persistence.StateWrite
			var want []int // refusals
			for _, id := range modelIDs {
				if rapid.Bool().Draw(rt, "save") {
					wid++
					w, fits := model[id].draw(rt, id, token, wid)
					if !fits {
						want = append(want, len(writes))
					}
					writes = append(writes, w)
				}
			}
			var got []int
			for _, r := range kept(rt, rapid.SampledFrom(l.doors()).Draw(rt, "door"), l.hosting(6, token), writes...) {
				is(rt, "refusal", r.Err, persistence.ErrConflict)
				got = append(got, r.Index)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				rt.Fatalf("refused %v, want %v of %v", got, want, writes)
			}
		}
		if rapid.IntRange(0, 4).Draw(rt, "stop") == 0 {
			l.again()
		}
		for _, id := range modelIDs {
			model[id].compare(rt, l.store.B, l.hosting(6, token), id)
		}
	})
}

func (m *stateModel) draw(
	rt *rapid.T, id protocol.EntityID, token, wid uint64,
) (w persistence.StateWrite, fits bool) {
	at := m.last.State.Revision
	switch kind := rapid.IntRange(0, 5).Draw(rt, "kind"); {
	case kind == 0 && at > 0:
		return m.last, m.token == token
	case kind == 1 && at > 0:
		return stateWrite(id, at-1, wid, "other"), false
	case kind == 2:
		return stateWrite(id, at+1, wid, "gap"), false
	case kind == 3:
		w = deletion(id, at, wid)
	default:
		w = stateWrite(id, at, wid, fmt.Sprint(wid))
	}
	m.last, m.token = w, token
	return w, true
}

func (m *stateModel) compare(t tb, d Door, h persistence.Hosting, id protocol.EntityID) {
	got := stateOf(t, d, h, id)
	if m.last.State.Revision == 0 {
		if len(got) > 0 {
			t.Fatalf("entity %v has %v and never had a state", id, got)
		}
		return
	}
	if len(got) != 1 || !sameState(got[0], m.last.State) {
		t.Fatalf("entity %v: %v, want %v", id, got, m.last.State)
	}
}

func statesFenced(l *law) {
	old, now := l.hosting(1, 10), l.hosting(1, 11)
	must(l, l.store.A.States.Fence(l.Context(), old))
	kept(l, l.store.A, old, stateWrite("e", 0, 1, "old"))
	must(l, l.store.B.States.Fence(l.Context(), now))
	fencedStates(l, l.store.A, old)
	l.again()
	fencedStates(l, l.store.B, old)
	if got := stateOf(l, l.store.B, now, "e"); len(got) != 1 || string(got[0].Body) != "old" {
		l.Fatalf("got %v", got)
	}
	kept(l, l.store.A, l.hosting(2, 0), stateWrite("of another shard", 0, 1, "x"))
}

func fencedStates(t tb, d Door, h persistence.Hosting) {
	t.Helper()
	refused, err := d.States.SaveStates(t.Context(), h, []persistence.StateWrite{stateWrite("e", 1, 2, "late")})
	is(t, "SaveStates", err, persistence.ErrFenced)
	if len(refused) > 0 {
		t.Fatalf("a call that is fenced has refusals: %v", refused)
	}
	err = d.States.LoadStates(t.Context(), h, []protocol.EntityID{"e"},
		func(int, persistence.State) error { return errors.New("a state for a hosting that is over") })
	is(t, "LoadStates", err, persistence.ErrFenced)
	is(t, "Fence", d.States.Fence(t.Context(), h), persistence.ErrFenced)
}

// stateLimits: what is above a limit is refused by itself, strange ids and empty bodies are not.
func stateLimits(l *law) {
	h := l.hosting(1, 1)
	must(l, l.store.A.States.Fence(l.Context(), h))
	body, name, tags := stateWrite("body", 0, 1, ""), stateWrite("name", 0, 1, ""), stateWrite("tags", 0, 1, "")
	body.State.Body = make([]byte, persistence.BodyMax+1)
	name.State.Name = strings.Repeat("n", persistence.NameMax+1)
	tags.State.Tags = make([]string, persistence.TagsMax+1)
	writes := []persistence.StateWrite{body, name, tags, stateWrite("wrap", math.MaxUint64, 1, "")}
	bad := len(writes)
	for _, id := range strangeIDs {
		writes = append(writes, stateWrite(id, 0, 1, ""))
	}
	writes = append(writes, stateWrite("most", 0, math.MaxUint64, strings.Repeat("x", persistence.BodyMax)))
	refused := kept(l, l.store.A, h, writes...)
	if len(refused) != bad {
		l.Fatalf("refused %v, want the first %d", refused, bad)
	}
	for _, r := range refused {
		wanted := persistence.ErrTooLarge
		if r.Index == bad-1 {
			wanted = persistence.ErrConflict
		}
		is(l, fmt.Sprint("write ", r.Index), r.Err, wanted)
	}
	l.again()
	for _, w := range writes[bad:] {
		if got := stateOf(l, l.store.B, h, w.Entity); len(got) != 1 || !sameState(got[0], w.State) {
			l.Fatalf("entity %v: %d states", w.Entity, len(got))
		}
	}
	_, err := l.store.A.States.SaveStates(l.Context(), h, make([]persistence.StateWrite, persistence.WritesMax+1))
	is(l, "a call with too many states", err, persistence.ErrTooLarge)
}

// deletedStates: a deletion keeps nothing of the value that comes with it.
func deletedStates(l *law) {
	h := l.hosting(1, 1)
	must(l, l.store.A.States.Fence(l.Context(), h))
	gone := stateWrite("e", 1, 2, "of a value that is deleted")
	gone.State.Deleted = true
	for _, w := range []persistence.StateWrite{stateWrite("e", 0, 1, "x"), gone, gone} {
		if refused := kept(l, l.store.A, h, w); len(refused) > 0 {
			l.Fatalf("refused %v", refused)
		}
	}
	l.again()
	want := persistence.State{Revision: 2, Deleted: true, At: gone.State.At}
	if got := stateOf(l, l.store.B, h, "e"); len(got) != 1 || !sameState(got[0], want) {
		l.Fatalf("got %+v, want %+v", got, want)
	}
}

func statesGivenUp(l *law) {
	h := l.hosting(1, 1)
	must(l, l.store.A.States.Fence(l.Context(), h))
	ended, cancel := context.WithCancel(l.Context())
	cancel()
	_, err := l.store.A.States.SaveStates(ended, h, []persistence.StateWrite{stateWrite("e", 0, 1, "x")})
	is(l, "SaveStates", err, context.Canceled)
	err = l.store.A.States.LoadStates(ended, h, []protocol.EntityID{"e"},
		func(int, persistence.State) error { return nil })
	is(l, "LoadStates", err, context.Canceled)
	if refused := kept(l, l.store.B, h, stateWrite("e", 0, 1, "x")); len(refused) > 0 {
		l.Fatalf("refused %v", refused)
	}
}

// oneFence: a store that is more than a journal has one fence for all of it.
func oneFence(l *law) {
	a, b := l.store.A, l.store.B
	fences := []persistence.Fencer{a.Journal}
	if a.Snapshots != nil {
		fences = append(fences, a.Snapshots)
	}
	if a.States != nil {
		fences = append(fences, a.States)
	}
	for i, f := range fences {
		shard := protocol.ShardID(i)
		must(l, f.Fence(l.Context(), l.hosting(shard, 2)))
		fencedCalls(l, b, l.hosting(shard, 1), write("e", 0, 1, "late"))
		if b.Snapshots != nil {
			fencedSnapshots(l, b, l.hosting(shard, 1))
		}
		if b.States != nil {
			fencedStates(l, b, l.hosting(shard, 1))
		}
	}
}
