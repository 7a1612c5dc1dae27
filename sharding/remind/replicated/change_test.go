package replicated

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// tool is the token of a caller that nothing fences.
var tool singleton.FencingToken

// oneKey is the data of a replica without peers.
type oneKey struct {
	host.Data
	replica *crdt.Replica
	limits  *[]time.Duration // of the calls; nil: they are not kept
}

func newKey(o crdt.Origin) oneKey { return oneKey{replica: crdt.NewReplica(o, crdt.StoreOptions{})} }

// Get implements host.Data.
func (k oneKey) Get(key string, _ quorum.Level, limit time.Duration, done func(crdt.Reader, error)) {
	if k.limits != nil {
		*k.limits = append(*k.limits, limit)
	}
	done(k.replica.Store().View(key), nil)
}

func (k oneKey) store() *Store {
	return New(Config{Type: "T", Data: k, Scheduler: scheduler.Goroutines{}})
}

func (k oneKey) change(t *testing.T, changes ...remind.Change) crdt.Group {
	t.Helper()
	mutate := func(tx *crdt.Tx) error { return change(tx, changes) }
	g, err := k.replica.Update(keyOf("T", 1), 1, mutate, &crdt.Changes{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (k oneKey) due(t *testing.T) []remind.Reminder {
	t.Helper()
	due, next, err := k.store().Due(context.Background(), tool, 1, time.Unix(1000, 0), 100)
	if err != nil || !next.IsZero() {
		t.Fatal(due, next, err)
	}
	return due
}

func put(id protocol.EntityID, name string, at int64, version uint64) remind.Change {
	return remind.Change{Reminder: remind.Reminder{
		Entity: id, Name: name, Due: time.Unix(at, 0), At: time.Unix(at, 0), Version: version,
	}}
}

// Two hosts that set one reminder at one time leave one, on every node the same. What one of them
// leaves behind is passed over, and taken away by a later write.
func TestTwoHosts(t *testing.T) {
	a, b := newKey(1), newKey(2)
	var ch crdt.Changes
	ga, gb := a.change(t, put("e", "n", 10, 1)), b.change(t, put("e", "n", 20, 2), put("f", "n", 5, 3))
	for k, g := range map[oneKey]crdt.Group{a: gb, b: ga} {
		if _, err := k.replica.Apply(g, &ch); err != nil {
			t.Fatal(err)
		}
	}
	first, second := a.due(t), b.due(t)
	if len(first) != 2 || len(second) != 2 || first[1].Version != second[1].Version {
		t.Fatalf("%v on one node, %v on the other", first, second)
	}
	got, err := a.store().Of(t.Context(), tool, 1, "e")
	if err != nil || len(got) != 1 || got[0].Version != first[1].Version {
		t.Errorf("%v %v", got, err)
	}
	entries := func() int { return a.replica.Store().View(keyOf("T", 1)).Paths() }
	if n := entries(); n != 5 {
		t.Errorf("%d entries before the sweep", n)
	}
	a.change(t)
	if n := entries(); n != 4 || len(a.due(t)) != 2 {
		t.Errorf("%d entries after the sweep", n)
	}
	a.change(t, remind.Change{Remove: true, Reminder: first[0]}, remind.Change{Remove: true, Reminder: first[1]})
	if !a.replica.Store().View(keyOf("T", 1)).Empty() {
		t.Error("something is left of what was taken away")
	}
}

// Two hosts that write the same turn of a reminder leave it once. It comes once in the first reminders.
func TestTwoHostsOfOneTurn(t *testing.T) {
	a, b := newKey(1), newKey(2)
	a.change(t, put("e", "n", 10, 1), put("f", "n", 11, 1))
	if _, err := a.replica.Apply(b.change(t, put("e", "n", 10, 1)), &crdt.Changes{}); err != nil {
		t.Fatal(err)
	}
	due, next, err := a.store().Due(t.Context(), tool, 1, time.Unix(1000, 0), 2)
	if err != nil || len(due) != 2 || due[0].Entity != "e" || due[1].Entity != "f" || !next.IsZero() {
		t.Errorf("%v are due, then %v, %v", due, next, err)
	}
}

// A reminder that cannot be read is told of, and hides no other one.
func TestDamaged(t *testing.T) {
	k := newKey(1)
	k.change(t, put("e", "n", 10, 1), put("e", "o", 20, 2))
	damage := crdt.Mutate[table](func(m *crdt.LWWMapTx[string, []byte]) error {
		return m.Put(nameOf(remind.Key{Entity: "e", Name: "n"}), []byte("no reminder"))
	})
	if _, err := k.replica.Update(keyOf("T", 1), 1, damage, &crdt.Changes{}); err != nil {
		t.Fatal(err)
	}
	due, next, err := k.store().Due(t.Context(), tool, 1, time.Unix(5, 0), 100)
	if err != nil || len(due) != 0 || !next.Equal(time.Unix(20, 0)) {
		t.Errorf("%v, then %v: %v, before it is due", due, next, err)
	}
	due, next, err = k.store().Due(t.Context(), tool, 1, time.Unix(15, 0), 100)
	if !errors.Is(err, remind.ErrDamaged) || len(due) != 0 || !next.Equal(time.Unix(20, 0)) {
		t.Errorf("%v, then %v: %v", due, next, err)
	}
	if key := (remind.Key{Entity: "e", Name: "n"}); !strings.Contains(err.Error(), key.String()) {
		t.Errorf("%v does not name %v", err, key)
	}
	due, next, err = k.store().Due(t.Context(), tool, 1, time.Unix(25, 0), 100)
	if !errors.Is(err, remind.ErrDamaged) || len(due) != 1 || !next.IsZero() {
		t.Errorf("%v, then %v: %v", due, next, err)
	}
	own, err := k.store().Of(t.Context(), tool, 1, "e")
	if !errors.Is(err, remind.ErrDamaged) || len(own) != 1 || own[0].Name != "o" {
		t.Errorf("%v: %v", own, err)
	}
	page, last, err := k.store().All(t.Context(), tool, 1, remind.Key{}, 1)
	if !errors.Is(err, remind.ErrDamaged) || len(page) != 0 || last.Name != "n" { // and the next page is behind it
		t.Errorf("%v, the last is %v: %v", page, last, err)
	}
	k.change(t, put("e", "n", 12, 3)) // to set it again mends it
	if due := k.due(t); len(due) != 2 || due[0].Version != 3 {
		t.Errorf("%v", due)
	}
	if _, err := k.replica.Update(keyOf("T", 1), 1, damage, &crdt.Changes{}); err != nil {
		t.Fatal(err)
	}
	k.change(t, remind.Change{Remove: true, Reminder: remind.Reminder{Entity: "e", Name: "n"}}) // so does this
	if due := k.due(t); len(due) != 1 || due[0].Name != "o" {
		t.Errorf("%v", due)
	}
}

// A reminder that is set to another time leaves nothing where it was, and a damaged one stays in its
// place, and is told of, whatever is written beside it.
func TestEntriesByTime(t *testing.T) {
	k := newKey(1)
	k.change(t, put("e", "n", 10, 1))
	for i := range int64(2 * sweepMax) { // the last one is behind what a write looks at
		k.change(t, put("f", string(rune('a'+i)), 20+i, 1))
	}
	before := k.replica.Store().View(keyOf("T", 1)).Paths()
	k.change(t, put("f", string(rune('a'+2*sweepMax-1)), 100, 2))
	if now := k.replica.Store().View(keyOf("T", 1)).Paths(); now != before {
		t.Errorf("%d entries, then %d", before, now)
	}
	damage := crdt.Mutate[table](func(m *crdt.LWWMapTx[string, []byte]) error {
		return m.Put(nameOf(remind.Key{Entity: "e", Name: "n"}), []byte("no reminder"))
	})
	if _, err := k.replica.Update(keyOf("T", 1), 1, damage, &crdt.Changes{}); err != nil {
		t.Fatal(err)
	}
	k.change(t, put("g", "n", 200, 1))
	if _, _, err := k.store().Due(t.Context(), tool, 1, time.Unix(15, 0), 100); !errors.Is(err, remind.ErrDamaged) {
		t.Error("after another write the damaged one is not told of:", err)
	}
}

// A write takes away a bounded number of the entries that lead to nothing.
func TestSweepIsBounded(t *testing.T) {
	k := newKey(1)
	stray := crdt.Mutate[table](func(m *crdt.LWWMapTx[string, []byte]) (err error) {
		for i := range int64(3 * sweepMax) {
			err = errors.Join(err, m.Put(timeOf(time.Unix(i, 0), remind.Key{Entity: "e", Name: "gone"}), nil))
		}
		return err
	})
	if _, err := k.replica.Update(keyOf("T", 1), 1, stray, &crdt.Changes{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2 * sweepMax, sweepMax, 0, 0} {
		k.change(t)
		if n := k.replica.Store().View(keyOf("T", 1)).Paths(); n != want {
			t.Errorf("%d entries that lead to nothing, want %d", n, want)
		}
	}
}

// A call of the data ends with its context: by then it has to say what it knows.
func TestLimitOfACall(t *testing.T) {
	k := newKey(1)
	k.limits = &[]time.Duration{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, c := range []context.Context{t.Context(), ctx} {
		if _, err := k.store().Of(c, tool, 1, "e"); err != nil {
			t.Fatal(err)
		}
	}
	if l := *k.limits; len(l) != 2 || l[0] != 0 || l[1] <= 59*time.Minute || l[1] > time.Hour {
		t.Errorf("the limits are %v, want none and what is left of an hour", l)
	}
}

func FuzzDecode(f *testing.F) {
	r := put("e", "n", 10, 1).Reminder
	f.Add(nameOf(r.Key()), encode(r), timeOf(r.At, r.Key()))
	f.Add("r\xff\xffe", encode(r), "t12345678\xff\xffe") // the length is of more than there is
	f.Fuzz(func(t *testing.T, name string, b []byte, entry string) {
		r, err := decode(name, b)
		if err == nil && (nameOf(r.Key()) != name || string(encode(r)) != string(b)) {
			t.Errorf("%q, %x: %+v", name, b, r)
		}
		if at, name, ok := readTime(entry); ok {
			if k, ok := readName(name); ok && timeOf(at, k) != entry {
				t.Errorf("%q is %v at %v", entry, k, at)
			}
		}
	})
}
