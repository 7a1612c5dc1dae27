package joiners

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Joiner is a node that asks to join.
type Joiner struct {
	Member  view.Member
	Durable []string   // patterns of durable keys that it brings
	Heard   view.Epoch // the newest view of which it has said that it knows
	since   time.Time  // when it first asked
	until   time.Time  // it is remembered for as long if it does not ask again
}

// Config says how long a Table remembers.
type Config struct {
	TTL     time.Duration // for how long a joiner is remembered that does not ask again
	Settled time.Duration // a member that is heard and that long after a joiner at its place came, runs beside it
	GoneFor time.Duration // how late a probe of a removed member may turn up
}

// Table is what a member knows of the nodes that ask it to be let in.
//
// Invariants: no joiner is a member of the installed view; there are at most Max.
type Table struct {
	cfg     Config
	waiting map[view.UID]Joiner
	gone    map[view.UID]time.Time // uids that were removed, and until when a late message of theirs may turn up
	since   view.Epoch             // this node has seen all views from this one on
	told    map[told]time.Time     // refusals, when they were told
}

// NewTable returns an empty Table.
func NewTable(cfg Config) *Table {
	return &Table{
		cfg: cfg, waiting: make(map[view.UID]Joiner), gone: make(map[view.UID]time.Time),
		told: make(map[told]time.Time),
	}
}

// Has reports whether a node is remembered as a joiner.
func (t *Table) Has(u view.UID) bool { _, ok := t.waiting[u]; return ok }

// Len is how many joiners are remembered.
func (t *Table) Len() int { return len(t.waiting) }

// Remembered returns all joiners, also those that have not asked for long, by uid. The slice is the
// caller's.
func (t *Table) Remembered() []Joiner {
	js := make([]Joiner, 0, len(t.waiting))
	for _, u := range t.uids() {
		js = append(js, t.waiting[u])
	}
	return js
}

// Asking returns the joiners that have asked lately, by uid. The slice is the caller's.
func (t *Table) Asking(now time.Time) []Joiner {
	return slices.DeleteFunc(t.Remembered(), func(j Joiner) bool { return !now.Before(j.until) })
}

// ForgetLate drops the joiners that have not asked lately.
func (t *Table) ForgetLate(now time.Time) {
	maps.DeleteFunc(t.waiting, func(_ view.UID, j Joiner) bool { return !now.Before(j.until) })
}

func (t *Table) uids() []view.UID { return slices.Sorted(maps.Keys(t.waiting)) }

// Follow takes a view that was just installed, and the one before; old is nil if there was none. Its
// members are no joiners any more, and those that it drops are gone.
func (t *Table) Follow(now time.Time, old, v *view.View) {
	if old == nil || v.Epoch != old.Epoch+1 {
		t.since = v.Epoch
	}
	maps.DeleteFunc(t.waiting, func(u view.UID, _ Joiner) bool { return v.Has(u) })
	maps.DeleteFunc(t.gone, func(_ view.UID, until time.Time) bool { return now.After(until) })
	if old == nil {
		return
	}
	for _, o := range old.Members {
		if !v.Has(o.UID) {
			t.gone[o.UID] = now.Add(t.cfg.GoneFor)
		}
	}
}

// Remember takes a node for a joiner, or hears that it still is one. installed is the epoch of the
// installed view. news says that it may be let in by what it says; full, that a joiner was dropped:
// this one, or the first one that does not know the view that it was told of.
func (t *Table) Remember(now time.Time, installed view.Epoch, p bootstrap.Probe) (news, full bool) {
	if t.mayHaveBeenIn(p) {
		return false, false // the lead knows more, or sends it away
	}
	n := p.Self
	// an earlier incarnation
	maps.DeleteFunc(t.waiting, func(u view.UID, j Joiner) bool { return u != n.UID && j.Member.Addr == n.Addr })
	before, known := t.waiting[n.UID]
	if full = !known && len(t.waiting) >= Max; full && !t.forgetUnheard(installed) {
		return false, true
	}
	j := Joiner{
		Member: n, Durable: p.Durable, Heard: max(before.Heard, p.Heard), since: before.since,
		until: now.Add(t.cfg.TTL),
	}
	if !known {
		j.since = now
	}
	t.waiting[n.UID] = j
	return !known || j.Heard != before.Heard, full
}

// forgetUnheard makes room for a joiner: it drops the first joiner that does not know the view that
// it was told of. Where there is no TLS, a stranger may make up addresses. It cannot keep a real
// joiner out for longer than that one needs to be answered.
func (t *Table) forgetUnheard(installed view.Epoch) bool {
	var first view.UID
	for _, u := range t.uids() {
		if j := t.waiting[u]; j.Heard < installed && (first == 0 || j.since.Before(t.waiting[first].since)) {
			first = u
		}
	}
	if first == 0 {
		return false
	}
	delete(t.waiting, first)
	return true
}

// mayHaveBeenIn reports whether a joiner has asked for longer than this node has seen all views: one
// that it missed may have listed the joiner, and the next one not, without any of the three knowing.
func (t *Table) mayHaveBeenIn(p bootstrap.Probe) bool { return p.Heard > 0 && p.First < t.since }

// Check verifies the invariants against the installed view.
func (t *Table) Check(v *view.View) error {
	if len(t.waiting) > Max {
		return fmt.Errorf("%d joiners", len(t.waiting))
	}
	for u := range t.waiting { // order: any that is wrong
		if v.Has(u) {
			return fmt.Errorf("joiner %v is a member", u)
		}
	}
	return nil
}
