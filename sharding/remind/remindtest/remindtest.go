package remindtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// Run holds the stores that open makes to the laws. Each is empty, and seen through two doors, as
// two nodes would.
func Run(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	t.Run("histories", func(t *testing.T) { histories(t, open) })
	t.Run("extremes", func(t *testing.T) { extremes(t, open) })
	t.Run("many", func(t *testing.T) { many(t, open) })
	t.Run("at one time", func(t *testing.T) { atOneTime(t, open) })
	t.Run("given up", func(t *testing.T) { givenUp(t, open) })
	t.Run("watched", func(t *testing.T) { watched(t, open) })
}

// tool is the token of a caller that nothing fences.
var tool singleton.FencingToken

// model is what the shards of a store hold.
type model map[protocol.ShardID]map[remind.Key]remind.Reminder

func (m model) change(shard protocol.ShardID, c remind.Change) {
	set := m[shard]
	if set == nil {
		set = map[remind.Key]remind.Reminder{}
		m[shard] = set
	}
	switch {
	case c.If != 0 && set[c.Key()].Version != c.If:
	case c.Remove:
		delete(set, c.Key())
	default:
		set[c.Key()] = c.Reminder
	}
}

// noon is when the reminders of the tests are due, about.
var noon = time.Date(2020, 2, 29, 12, 0, 0, 0, time.UTC)

// histories are random calls through either door, against a model that is a map; each call is made
// twice at times. After each, the first reminders are read as they were set for.
func histories(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := open(t)
		doors := []remind.Store{a, b}
		m := model{}
		for n := range rapid.IntRange(1, 20).Draw(rt, "calls") {
			door := rapid.SampledFrom(doors).Draw(rt, "door")
			shard := protocol.ShardID(rapid.SampledFrom([]uint32{0, 1, 1 << 20}).Draw(rt, "shard"))
			changes := drawChanges(rt, uint64(1+10*n), m[shard])
			for range 1 + rapid.IntRange(0, 1).Draw(rt, "again") {
				must(rt, door.Update(t.Context(), tool, shard, 0, changes))
			}
			for _, c := range changes {
				m.change(shard, c)
			}
			until := noon.Add(time.Duration(rapid.IntRange(-6, 6).Draw(rt, "until")) * time.Second)
			compareDue(t.Context(), rt, rapid.SampledFrom(doors).Draw(rt, "reader"), shard, m[shard], until,
				rapid.IntRange(1, 8).Draw(rt, "limit"))
		}
		for _, door := range doors {
			compare(t.Context(), rt, door, m)
		}
	})
}

// drawChanges draws changes of different reminders. Some have a condition, that may hold or not.
func drawChanges(rt *rapid.T, version uint64, set map[remind.Key]remind.Reminder) (all []remind.Change) {
	for _, id := range []protocol.EntityID{"a", "ab", "é/\x00"} {
		for _, name := range []string{"n", "bn", "\x00"} {
			kind := rapid.IntRange(0, 3).Draw(rt, "change")
			if kind == 3 {
				continue
			}
			version++
			c := remind.Change{Remove: kind == 0, Reminder: remind.Reminder{Entity: id, Name: name}}
			switch rapid.IntRange(0, 3).Draw(rt, "condition") {
			case 0:
				c.If = version // never stored
			case 1:
				c.If = set[c.Key()].Version
			}
			if !c.Remove {
				at := noon.Add(time.Duration(rapid.IntRange(-5, 5).Draw(rt, "at")) * time.Second)
				c.Reminder = remind.Reminder{
					Entity: id, Name: name, Version: version, Due: at.Add(-time.Hour), At: at,
					Every: time.Duration(rapid.IntRange(0, 1).Draw(rt, "every")) * time.Hour,
					Tries: uint32(version % 3), Body: []byte(fmt.Sprint("body ", version)),
				}
			}
			all = append(all, c)
		}
	}
	return all
}

type failer interface{ Fatalf(string, ...any) }

func must(t failer, err error) {
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func compare(ctx context.Context, t failer, s remind.Store, m model) {
	for shard, set := range m { // order: any that differs fails
		compareAll(ctx, t, s, shard, set, 2)
		compareDue(ctx, t, s, shard, set, noon.Add(time.Hour), remind.DueMax)
		of := map[protocol.EntityID][]remind.Reminder{"nothing": nil}
		for k, r := range set {
			of[k.Entity] = append(of[k.Entity], r)
		}
		for id, want := range of { // order: any that differs fails
			got, err := s.Of(ctx, tool, shard, id)
			must(t, err)
			slices.SortFunc(want, func(a, b remind.Reminder) int { return strings.Compare(a.Name, b.Name) })
			if len(got) != len(want) {
				t.Fatalf("entity %v has %v, want %v", id, got, want)
			}
			for i := range want {
				same(t, got[i], want[i])
			}
		}
	}
}

// compareDue reads the first reminders, which may be in any order if they are of one time.
func compareDue(ctx context.Context, t failer, s remind.Store, shard protocol.ShardID,
	set map[remind.Key]remind.Reminder, until time.Time, limit int) {
	var times []time.Time
	for _, r := range set {
		times = append(times, r.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	n := 0
	for n < min(len(times), limit) && !times[n].After(until) {
		n++
	}
	due, next, err := s.Due(ctx, tool, shard, until, limit)
	must(t, err)
	if len(due) != n {
		t.Fatalf("shard %v: %d are due, want %d: %v", shard, len(due), n, due)
	}
	seen := map[remind.Key]bool{}
	for i, r := range due {
		if want, is := set[r.Key()]; !is || seen[r.Key()] || !r.At.Equal(times[i]) {
			t.Fatalf("shard %v: %v comes in place %d", shard, r, i)
		} else {
			same(t, r, want)
		}
		seen[r.Key()] = true
	}
	switch {
	case n == len(times) && !next.IsZero():
		t.Fatalf("shard %v: after the last comes one at %v", shard, next)
	case n < len(times) && !next.Equal(times[n]):
		t.Fatalf("shard %v: the next one comes at %v, want %v", shard, next, times[n])
	}
}

// compareAll reads all reminders, page after page. Each comes once, and no page but the last has room.
func compareAll(ctx context.Context, t failer, s remind.Store, shard protocol.ShardID,
	set map[remind.Key]remind.Reminder, limit int) {
	seen := map[remind.Key]bool{}
	for after := (remind.Key{}); ; {
		page, last, err := s.All(ctx, tool, shard, after, limit)
		must(t, err)
		if want := min(limit, len(set)-len(seen)); len(page) != want {
			t.Fatalf("shard %v: a page of %d behind %v, want %d of %d", shard, len(page), after, want, len(set))
		}
		for _, r := range page {
			want, is := set[r.Key()]
			if !is || seen[r.Key()] {
				t.Fatalf("shard %v: %v comes twice, or is not there", shard, r)
			}
			same(t, r, want)
			seen[r.Key()] = true
		}
		if len(page) == 0 {
			if last != (remind.Key{}) {
				t.Fatalf("shard %v: there is nothing behind %v, and %v is the last", shard, after, last)
			}
			return
		}
		if last != page[len(page)-1].Key() {
			t.Fatalf("shard %v: %v is the last, want %v", shard, last, page[len(page)-1].Key())
		}
		after = last
	}
}

func same(t failer, got, want remind.Reminder) {
	if !got.Due.Equal(want.Due) || !got.At.Equal(want.At) || got.Key() != want.Key() || got.Every != want.Every ||
		got.Tries != want.Tries || got.Version != want.Version || string(got.Body) != string(want.Body) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}

// extremes are reminders at the limits of the port.
func extremes(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	a, b := open(t)
	m := model{}
	first, last := time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2261, 1, 1, 0, 0, 0, 999_999_999, time.UTC)
	for i, r := range []remind.Reminder{
		{Entity: "e", Name: strings.Repeat("n", remind.NameMax), Body: make([]byte, remind.BodyMax), At: noon},
		{Entity: protocol.EntityID(strings.Repeat("e", 512)), Name: "n", At: first},
		{Entity: "e", Name: "late", At: last, Every: 1 << 62, Tries: 1 << 31},
	} {
		r.Due, r.Version = r.At, ^uint64(i)
		must(t, r.Check())
		c := remind.Change{Reminder: r}
		must(t, a.Update(t.Context(), tool, 0, 0, []remind.Change{c}))
		m.change(0, c)
	}
	compareDue(t.Context(), t, b, 0, m[0], noon.AddDate(250, 0, 0), 10)
	compareAll(t.Context(), t, b, 0, m[0], 1)
}

// many reminders come and go in calls as large as they get.
func many(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	a, b := open(t)
	const n = 4 * remind.ChangesMax
	m := model{}
	var puts, removes []remind.Change
	for i := range n {
		at := noon.Add(time.Duration(i*7919%n) * time.Second)
		c := remind.Change{Reminder: remind.Reminder{
			Entity: protocol.EntityID(fmt.Sprintf("entity-%06d", i/2)), Name: fmt.Sprint("r", i%2), Due: at, At: at,
			Version: uint64(i + 1), Body: []byte("body"),
		}}
		puts = append(puts, c)
		m.change(3, c)
		if i%2 == 0 {
			c.Remove, c.If = true, c.Version
			removes = append(removes, c)
		}
	}
	for some := range slices.Chunk(puts, remind.ChangesMax) {
		must(t, a.Update(t.Context(), tool, 3, 0, some))
	}
	compareDue(t.Context(), t, b, 3, m[3], noon.Add(time.Minute), remind.DueMax)
	for some := range slices.Chunk(removes, remind.ChangesMax) {
		must(t, b.Update(t.Context(), tool, 3, 0, some))
	}
	for _, c := range removes {
		m.change(3, c)
	}
	compareDue(t.Context(), t, a, 3, m[3], noon.Add(time.Minute), remind.DueMax)
	compareDue(t.Context(), t, a, 3, m[3], noon.AddDate(1, 0, 0), remind.DueMax)
	compareAll(t.Context(), t, a, 3, m[3], 1000)
}

// atOneTime changes many shards at one time, as the shards of a node do.
func atOneTime(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	a, b := open(t)
	const shards = 64
	var all sync.WaitGroup
	errs := make([]error, shards)
	change := func(i int) remind.Change {
		return remind.Change{Reminder: remind.Reminder{
			Entity: "e", Name: "n", Due: noon, At: noon.Add(time.Duration(i)), Version: uint64(i + 1),
		}}
	}
	for i := range shards {
		all.Go(func() {
			store := []remind.Store{a, b}[i%2]
			errs[i] = store.Update(t.Context(), tool, protocol.ShardID(i), 0, []remind.Change{change(i)})
		})
	}
	all.Wait()
	must(t, errors.Join(errs...))
	m := model{}
	for i := range shards {
		m.change(protocol.ShardID(i), change(i))
	}
	compare(t.Context(), t, a, m)
	compare(t.Context(), t, b, m)
}

// givenUp makes calls whose context has ended: they fail, and what they would have done can be done
// afterwards.
func givenUp(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	a, b := open(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c := remind.Change{Reminder: remind.Reminder{Entity: "e", Name: "n", Due: noon, At: noon, Version: 1}}
	_, _, due := a.Due(ended, tool, 1, noon, 1)
	_, of := a.Of(ended, tool, 1, "e")
	_, _, all := a.All(ended, tool, 1, remind.Key{}, 1)
	for call, err := range map[string]error{
		"Due": due, "Of": of, "All": all, "Update": a.Update(ended, tool, 1, 0, []remind.Change{c}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the context's error", call, err)
		}
	}
	must(t, b.Update(t.Context(), tool, 1, 0, []remind.Change{c}))
	m := model{}
	m.change(1, c)
	compare(t.Context(), t, a, m)
}

// watched shards are told of, those that have reminders already too.
func watched(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	a, b := open(t)
	put := []remind.Change{{Reminder: remind.Reminder{Entity: "e", Name: "n", Due: noon, At: noon, Version: 1}}}
	must(t, b.Update(t.Context(), tool, 1, 0, put))
	type change struct {
		shard protocol.ShardID
		any   bool
	}
	told := make(chan change, 100)
	cancel := a.Watch(func(shard protocol.ShardID, any bool) { told <- change{shard, any} })
	await := func(want change) {
		t.Helper()
		for {
			select {
			case got := <-told:
				if got == want {
					return
				}
			case <-t.Context().Done():
				t.Fatalf("not told of %v", want)
			case <-time.After(time.Minute):
				t.Fatalf("not told of %v within a minute", want)
			}
		}
	}
	await(change{1, true})
	must(t, b.Update(t.Context(), tool, 2, 0, put))
	await(change{2, true})
	put[0].Remove = true
	must(t, b.Update(t.Context(), tool, 2, 0, put[:1:1]))
	await(change{2, false})
	cancel()
}
