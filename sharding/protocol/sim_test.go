package protocol_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "run the simulation with this seed only, and print it")
	simSeeds = flag.Uint64("sim.seeds", 30, "number of seeds per simulation")
)

// play runs one seed: a phase of trouble, then healing, then the demands.
func play(seed uint64, opt simOptions, verbose bool) (w *world, err error) {
	w = newWorld(seed, opt)
	if verbose {
		w.verbose = func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "%v %s\n", w.now.Sub(time.Unix(1_000_000, 0)), fmt.Sprintf(format, args...))
		}
	}
	w.run(500 * time.Millisecond)
	for end := w.now.Add(8 * time.Second); w.now.Before(end) && w.err == nil; {
		w.trouble()
		w.run(w.between(0, 30*time.Millisecond))
	}
	w.heal()
	return w, w.err
}

func (w *world) trouble() {
	ns := w.live()
	n := ns[w.rng.IntN(len(ns))]
	for range w.rng.IntN(20) {
		w.users()
	}
	w.occupySome()
	if w.opt.absences && w.chance(4) {
		n.startOrClose()
	}
	if w.opt.stops && w.chance(10) {
		n.stopShards(protocol.ShardID(w.rng.IntN(w.opt.shards)))
	}
	switch k := w.rng.IntN(400); {
	case k < 3 && len(ns) < w.opt.nodes+w.opt.proxies+2:
		w.join(w.chance(20))
	case k < 6 && w.hosts() > 2:
		w.leave(n)
	case k < 9 && w.opt.crashes && w.hosts() > 2 && !n.cut && !n.leaving:
		if w.chance(50) {
			w.crash(n)
		} else {
			w.isolate(n)
		}
	case k < 30:
		m := ns[w.rng.IntN(len(ns))]
		n.breakLink(m.uid)
	}
}

// users tell something on some node that has not begun to leave.
func (w *world) users() {
	ns := slices.DeleteFunc(w.live(), func(n *simNode) bool { return n.leaving || n.cut || !n.serves() })
	if len(ns) > 0 {
		ns[w.rng.IntN(len(ns))].tell(protocol.EntityID(fmt.Sprintf("e%d", w.rng.IntN(w.opt.entities))))
	}
}

func (w *world) hosts() int {
	k := 0
	for _, n := range w.live() {
		if !n.proxy && !n.leaving && !n.cut {
			k++
		}
	}
	return k
}

// heal ends all trouble and demands that everything is in order again.
func (w *world) heal() {
	w.healed = true
	w.startSome()
	w.run(12 * time.Second)
	for _, n := range w.live() {
		for e := range w.opt.entities {
			if !n.leaving && n.serves() {
				n.tell(protocol.EntityID(fmt.Sprintf("e%d", e)))
			}
		}
	}
	w.run(8 * time.Second)
	for end, rest := w.now.Add(5*time.Second), w.now; w.err == nil &&
		w.now.Sub(rest) < 100*time.Millisecond && w.now.Before(end); {
		if w.run(5 * time.Millisecond); w.moves() { // what moves just now lives nowhere
			rest = w.now
		}
	}
	if w.err != nil {
		return
	}
	w.demandDelivery()
	w.demandRemembered()
	w.demandAgreement()
}

// moves reports whether a shard is on its way, or starting in its new home.
func (w *world) moves() bool {
	return slices.ContainsFunc(w.live(), func(n *simNode) bool {
		if n.coordinator == nil {
			return false
		}
		said := n.coordinator.String() // with a line for each shard that neither rests nor is hosted
		return strings.HasPrefix(said, "coordinator active") && strings.Contains(said, "\n")
	})
}

func (w *world) demandDelivery() {
	missing := 0
	var example stream
	for _, st := range slices.SortedFunc(maps.Keys(w.sent), func(a, b stream) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}) {
		if w.nodes[st.from].alive && w.nodes[st.from].serves() && w.handled[st] != w.sent[st] {
			w.fail("the last message of %v, %d, is not handled: only up to %d", st, w.sent[st], w.handled[st])
		}
		if k := w.sent[st] - len(w.got[st]); k > 0 {
			missing, example = missing+k, st
		}
	}
	// all may have been closed at one time
	known := w.lost[protocol.DropLeaseLost.String()] + w.lost[protocol.DropNoHome.String()]
	if w.opt.absences {
		known += w.lost[protocol.DropStopped.String()]    // what waited in a region that left before it was registered
		known += w.lost["left"] + w.lost["started again"] // what waited in a closed region when that, or its node, went
	}
	if missing > known && !w.opt.crashes {
		w.fail("%d messages lost although no node died, among them of %v; known losses %v", missing, example, w.lost)
	}
}

func (w *world) demandRemembered() {
	if !w.opt.remember {
		return
	}
	for s := range protocol.ShardID(w.opt.shards) {
		for _, id := range w.ids[s].all() {
			if _, ok := w.lives[id]; !ok {
				w.fail("%v is remembered and does not live", id)
			}
			if !w.remembered.has(s) {
				w.fail("shard %v has remembered ids and is not in the set of such shards", s)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.lives)) {
		if !w.ids[protocol.ShardOf(id, w.opt.shards)].has(id) {
			w.fail("%v lives and is not remembered", id)
		}
	}
}

// demandAgreement: one coordinator, and every node's route leads to the node that hosts.
func (w *world) demandAgreement() {
	acting := 0
	for _, n := range w.live() {
		if n.coordinator != nil && n.coordinator.Acts() {
			acting++
		}
		for s := range n.routes {
			if r := n.routes[s]; r.State == protocol.RouteRemote &&
				w.nodes[r.Home].routes[s].State != protocol.RouteLocal {
				w.fail("%v routes shard %d to %v, where it is %v", n.uid, s, r.Home, w.nodes[r.Home].routes[s])
			}
		}
	}
	if acting != 1 {
		w.fail("%d coordinators act", acting)
	}
}

func simulate(t *testing.T, opt simOptions) {
	t.Helper()
	if *simSeed != 0 {
		if _, err := play(*simSeed, opt, true); err != nil {
			t.Fatal(err)
		}
		return
	}
	var told, moved int
	for seed := range *simSeeds {
		w, err := play(seed+1, opt, false)
		if err != nil {
			t.Fatalf("seed %d: %v", seed+1, err)
		}
		for _, k := range w.sent {
			told += k
		}
		for _, u := range w.order {
			if c := w.nodes[u].coordinator; c != nil {
				moved += int(counterOf(c.Stats(), "hand-offs"))
			}
		}
	}
	t.Logf("%d messages told, %d hand-offs", told, moved)
}

func TestSimPlanned(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 3, proxies: 1, shards: 8, entities: 24})
}

func TestSimPlannedLossy(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 4, proxies: 1, shards: 8, entities: 24, lossy: true})
}

func TestSimRemember(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 3, proxies: 1, shards: 8, entities: 24, lossy: true, remember: true})
}

func TestSimPassivation(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 3, proxies: 1, shards: 8, entities: 24, lossy: true, remember: true, passivate: 30})
}

func TestSimCrashes(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 5, proxies: 1, shards: 12, entities: 30, lossy: true, crashes: true})
}

func TestSimCrashesRemember(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 5, proxies: 1, shards: 12, entities: 30, lossy: true, crashes: true, remember: true})
}

func TestSimSlowHandlers(t *testing.T) {
	t.Parallel()
	simulate(t, simOptions{nodes: 3, proxies: 1, shards: 8, entities: 24, lossy: true, slow: true})
}

// TestSimFullRestart stops everything at one instant and starts again from what is durable: all
// that was remembered lives again, with no traffic.
func TestSimFullRestart(t *testing.T) {
	t.Parallel()
	for seed := range *simSeeds {
		w := newWorld(seed+1, simOptions{nodes: 3, shards: 8, entities: 40, remember: true})
		w.run(time.Second)
		for range 200 {
			w.users()
			w.run(w.between(0, 5*time.Millisecond))
		}
		for _, n := range w.live() {
			n.die("restart")
		}
		w.queue, w.table, w.regions, w.view.Members = nil, map[protocol.ShardID]protocol.Entry{},
			map[protocol.UID]bool{}, nil
		for range 3 {
			w.join(false)
		}
		before := len(w.lives)
		w.run(3 * time.Second)
		w.demandRemembered()
		w.demandAgreement()
		if w.err != nil || before != 0 || len(w.lives) == 0 {
			t.Fatalf("seed %d: %v, %d live before, %d after", seed+1, w.err, before, len(w.lives))
		}
	}
}

// caught demands that a planted defect is found.
func caught(t *testing.T, opt simOptions) {
	t.Helper()
	for seed := range 5 * *simSeeds {
		if _, err := play(seed+1, opt, false); err != nil {
			t.Logf("seed %d: %v", seed+1, err)
			return
		}
	}
	t.Fatalf("not found by %d seeds", 5**simSeeds)
}

func TestSimFindsNoFence(t *testing.T) {
	t.Parallel()
	caught(t, simOptions{nodes: 3, proxies: 1, shards: 8, entities: 24, defects: defect.Of(defect.NoFence)})
}

func TestSimFindsNoTokenCheck(t *testing.T) {
	t.Parallel()
	caught(t, simOptions{
		nodes: 5, shards: 12, entities: 30, lossy: true, crashes: true, defects: defect.Of(defect.NoTokenCheck),
	})
}

func TestSimFindsNoRememberWait(t *testing.T) {
	t.Parallel()
	caught(t, simOptions{
		nodes: 3, shards: 8, entities: 24, lossy: true, remember: true, passivate: 30,
		defects: defect.Of(defect.NoRememberWait),
	})
}
