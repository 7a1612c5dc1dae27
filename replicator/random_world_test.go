package replicator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
)

// randomWorld is a world whose members come, go, are cut off and dropped at random.
type randomWorld struct {
	*world
	rng   *rand.Rand
	views []replica.View
	next  crdt.Origin
}

// newRandomWorld is one in which nothing has started. concern names the draws of a kind of worlds.
func newRandomWorld(seed, concern uint64, cfg settings.Config) *randomWorld {
	return &randomWorld{world: newWorld(thrower{}, seed, cfg), rng: rand.New(rand.NewPCG(seed, concern))}
}

// failure stops a world whose test wants to know what failed.
type failure struct{ err error }

// thrower is a tb that panics with a failure.
type thrower struct{}

func (thrower) Helper()                      {}
func (thrower) Fatal(args ...any)            { panic(failure{errors.New(fmt.Sprint(args...))}) }
func (thrower) Fatalf(f string, args ...any) { panic(failure{fmt.Errorf(f, args...)}) }

// failing plays a world and says what failed.
func failing(play func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panic(p)
		}
	}()
	play()
	return nil
}

func (w *randomWorld) chance(one int) bool  { return w.rng.IntN(one) == 0 }
func (w *randomWorld) newest() replica.View { return w.views[len(w.views)-1] }

func (w *randomWorld) alive() []*node {
	return slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return n.down })
}

func (w *randomWorld) some() *node {
	all := w.alive()
	return all[w.rng.IntN(len(all))]
}

// someArrive lets packets come, most in order, some late, twice or never.
func (w *randomWorld) someArrive() {
	for range 1 + w.rng.IntN(20) {
		if len(w.net) == 0 {
			return
		}
		i := 0
		switch w.rng.IntN(12) {
		case 0:
			w.net = w.net[1:]
			continue
		case 1:
			w.net = append(w.net, w.net[0])
		case 2, 3:
			i = w.rng.IntN(len(w.net))
		}
		w.deliver(i)
	}
}

// pass lets some time pass.
func (w *randomWorld) pass() {
	w.now = w.now.Add(time.Duration(1+w.rng.IntN(100)) * time.Millisecond)
	for _, n := range w.alive() {
		if at := n.m.Deadline(); !at.IsZero() && !at.After(w.now) {
			n.step(Tick{})
		}
	}
}

// follow installs a view.
func (n *node) follow(v replica.View) {
	v.Clean = n.clean >= v.Ended.Below
	n.step(Install{v})
}

// bring installs the views that a node has not got, or some of them, until one says that its disk is
// outdated.
func (w *randomWorld) bring(n *node) {
	for _, v := range w.views {
		if v = v.Normal(); v.Epoch > n.m.site.View.Epoch && !w.chance(4) && !n.outdated &&
			(n.m.site.Member || hasMember(v.Voters, n.id) || hasMember(v.Learners, n.id)) {
			n.follow(v)
		}
	}
}

// bears reports whether a majority of the newest view would live without one.
func (w *randomWorld) bears(without crdt.Origin) bool {
	v, n := w.newest(), 0
	for _, p := range v.Voters {
		if p.ID != without && w.node(p.ID) != nil {
			n++
		}
	}
	return n >= quorum.MajorityOf(len(v.Voters))
}

// installed reports whether a majority has the newest view, as the next decision needs.
func (w *randomWorld) installed() bool {
	v, n := w.newest(), 0
	for _, p := range v.Voters {
		if x := w.node(p.ID); x != nil && x.m.site.View.Epoch == v.Epoch {
			n++
		}
	}
	return n >= quorum.MajorityOf(len(v.Voters))
}

// follows reports whether a view keeps a majority of the one before.
func follows(old, v replica.View) bool {
	kept := 0
	for _, p := range old.Voters {
		if hasMember(v.Normal().Voters, p.ID) {
			kept++
		}
	}
	return kept >= quorum.MajorityOf(len(old.Voters))
}
