package thousand

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// actMax is how long an act may take, in virtual time.
const actMax = 4 * time.Hour

// Run plays. size bounds the number of nodes. What does not fit into memory is refused: a machine whose memory
// is full stands still.
func Run(ctx context.Context, set Settings, size func(int) int) error {
	set.Nodes = size(set.Nodes)
	set = set.withDefaults()
	free := measure.FreeMemory()
	if err := set.fits(free); err != nil {
		return err
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(free - free/10))
	w := newWorld(ctx, set)
	defer w.end()
	minute := func() error { return w.pass(time.Minute) }
	for _, a := range []struct {
		name string
		play func() error
	}{
		{"join", w.join}, {"place", w.place}, {"idle", minute}, {"restart", w.restart}, {"after", minute},
		{"loss", w.lose},
	} {
		if a.name == "restart" && w.set.Restarts == 0 {
			continue
		}
		if err := w.act(a.name, a.play); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

// end lets go of all that runs.
func (w *world) end() {
	for _, s := range w.slots {
		if s.node != nil {
			s.node.kill()
		}
	}
}

// act plays one act, and tells what it took.
func (w *world) act(name string, play func() error) error {
	w.owners.begin()
	w.meter.begin()
	before, began := w.tally(), time.Now()
	if err := play(); err != nil {
		return err
	}
	took := time.Since(began)
	if w.failed != nil {
		return w.failed
	}
	if name != "join" && !w.owners.all() {
		return fmt.Errorf("%d of %d shards have an owner", w.owners.owned, w.set.Shards)
	}
	w.report(name, before, took)
	return nil
}

// join starts all nodes at once, and waits until all see all of them Up.
func (w *world) join() error {
	var failed error
	for _, s := range w.slots {
		w.after(time.Duration(w.ids.Int64N(int64(time.Second))), nil, func() {
			if err := w.startNode(s); err != nil {
				failed = err
			}
		})
	}
	_, err := w.until(actMax, func() bool { return failed != nil || w.together() })
	if failed != nil {
		return failed
	}
	return err
}

// together reports whether all slots have nodes that are Up in one view, which all have, and in which
// their regions are registered.
func (w *world) together() bool {
	v := w.newest()
	if v == nil || len(v.Members) != len(w.slots) {
		return false
	}
	for _, s := range w.slots {
		if s.node == nil || !s.node.serves() || s.node.mem.view.Epoch != v.Epoch {
			return false
		}
	}
	return !slices.ContainsFunc(v.Members, func(m view.Member) bool { return m.Status != view.Up })
}

// newest is the newest view that any node has installed; nil: there is none.
func (w *world) newest() (v *view.View) {
	for _, s := range w.slots {
		if s.node != nil && s.node.mem.view != nil && (v == nil || s.node.mem.view.Epoch > v.Epoch) {
			v = s.node.mem.view
		}
	}
	return v
}

// tellWithin is the time within which all shards are told something.
const tellWithin = 10 * time.Millisecond

// place has each node send a message to its share of the shards, which thereby get homes.
func (w *world) place() error {
	for i := range w.set.Shards {
		n := w.slots[i%len(w.slots)].node
		w.after(time.Duration(w.ids.Int64N(int64(tellWithin))), n, func() { n.tell(i) })
	}
	_, err := w.until(actMax, w.owners.all)
	return err
}

// byAge are the slots, that with the youngest node first.
func (w *world) byAge() []*slot {
	up, all := map[uint64]uint32{}, slices.Clone(w.slots)
	for _, m := range w.newest().Members {
		up[uint64(m.UID)] = m.UpNumber
	}
	slices.SortFunc(all, func(a, b *slot) int { return cmp.Compare(up[b.node.uid], up[a.node.uid]) })
	return all
}

// restart restarts nodes, the youngest first, so many at one time: a node leaves in order, is away
// for a second, joins as another incarnation, and the next one leaves when it serves. Of the founders
// one is away at a time: without directories they remember no cluster, and all of them would found another one.
func (w *world) restart() error {
	order := w.byAge()[:w.set.Restarts]
	done, away := 0, []*slot{}
	founds := func(s *slot) bool { return s.index < founders }
	next := func() {
		i := slices.IndexFunc(order, func(s *slot) bool { return !founds(s) || !slices.ContainsFunc(away, founds) })
		if i < 0 {
			return
		}
		s := order[i]
		order = slices.Delete(order, i, i+1)
		away = append(away, s)
		s.node.leave(func() {
			w.after(time.Second, nil, func() {
				if err := w.startNode(s); err != nil {
					w.fail("%v", err)
				}
			})
		})
	}
	for range w.set.AtOnce {
		next()
	}
	_, err := w.until(actMax, func() bool {
		for _, s := range slices.Clone(away) {
			if s.node != nil && s.node.left == nil && s.node.serves() {
				away = slices.DeleteFunc(away, func(x *slot) bool { return x == s })
				done++
				next()
			}
		}
		return done == w.set.Restarts && w.owners.all() && w.together()
	})
	return err
}

// lose kills a tenth of the nodes at once, among them the oldest, and waits until all shards have
// owners again.
func (w *world) lose() error {
	oldest, ok := w.newest().Oldest(role)
	if !ok {
		return fmt.Errorf("no member is the oldest")
	}
	ns := []*node{w.nodes[uint64(oldest.UID)]}
	order := slices.Clone(w.slots)
	w.ids.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, s := range order {
		if len(ns) < max(1, len(w.slots)/10) && s.node != ns[0] {
			ns = append(ns, s.node)
		}
	}
	for _, n := range ns {
		n.kill()
	}
	_, err := w.until(actMax, w.owners.all)
	return err
}
