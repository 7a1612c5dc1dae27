package membership

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// chaos is what a seed draws: a swarm of options, each possibly absent.
type chaos struct {
	w       *world
	seed    uint64
	rng     *rand.Rand
	founded int
	next    int // next fresh address
	end     time.Duration
	weights [10]int
	pause   time.Duration // the longest
	heal    bool          // the peaceful phase has begun
	left    map[string]bool
}

const chaosAddrs = 8

func newChaos(t testing.TB, seed uint64, base Config) *chaos {
	w := newWorld(t, seed, base)
	c := &chaos{
		w: w, seed: seed, rng: w.rng, end: 150 * time.Second, pause: 40 * time.Second, left: make(map[string]bool),
	}
	r := c.rng
	if seed%2 == 1 {
		w.base.RetireAfter, w.base.Roles = 1+int(seed%4), []string{"x"}
	}
	c.founded = 2 + r.IntN(4)
	w.base.Seeds, w.base.BootstrapExpect = addrs(c.founded), c.founded
	w.loss = []float64{0, 0.01, 0.05, 0.15}[r.IntN(4)]
	w.straggle = []float64{0, 0, 0.01, 0.05}[r.IntN(4)]
	w.latency = []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}[r.IntN(3)]
	w.encode = r.IntN(8) == 0
	w.drift = 0.01
	w.slow = slowDisks(seed)
	w.handOff = time.Duration(r.Int64N(int64(3 * time.Second)))
	w.settle = time.Duration(r.Int64N(int64(2 * time.Second)))
	for i := range c.weights {
		c.weights[i] = r.IntN(4)
	}
	if _, ok := base.Strategy.(downing.LeaseMajority); ok {
		c.troubleArbiter(seed)
	}
	w.restart = func(n *node) { c.ended(n) }
	for _, a := range addrs(c.founded) {
		w.after(time.Duration(r.Int64N(int64(2*time.Second))), func() { c.start(a) })
	}
	c.next = c.founded
	return c
}

func (c *chaos) start(addr string) {
	if c.w.livingAt(addr) != nil || c.left[addr] || c.tooFresh(addr) {
		return
	}
	n := c.w.start(addr, c.keys)
	if rng := rand.New(rand.NewPCG(c.seed, uint64(n.uid)^1)); c.seed%3 == 1 {
		for range rng.IntN(4) {
			s := view.Service{Name: fmt.Sprint("s", rng.IntN(3))}
			c.w.after(time.Duration(rng.Int64N(int64(20*time.Second))), func() { n.offer(s) })
		}
	}
}

// keys gives a node one of a few patterns of durable keys, in one world of three.
func (c *chaos) keys(cfg *Config) {
	if rng := rand.New(rand.NewPCG(c.seed, uint64(cfg.UID))); c.seed%3 == 0 {
		cfg.DurableKeys = []string{fmt.Sprintf("%d/*", rng.IntN(5))}
	}
}

// tooFresh keeps to what BootstrapExpect demands: there must never be so many nodes whose disks
// know of no cluster that they could found a second one.
func (c *chaos) tooFresh(addr string) bool {
	if len(c.w.checker.views) == 0 || c.w.disks[addr] != nil {
		return false
	}
	fresh := 1
	for _, n := range c.w.living() {
		if n.m.View() == nil && c.w.disks[n.addr] == nil {
			fresh++
		}
	}
	return fresh >= c.founded
}

// ended: a stalled node starts again, a downed one perhaps, a node that left does not.
func (c *chaos) ended(n *node) {
	switch {
	case errors.Is(n.done, ErrLeft) && !c.heal:
		c.left[n.addr] = true
	case c.heal || errors.Is(n.done, ErrStalled) || c.rng.IntN(3) > 0:
		c.w.after(time.Duration(c.rng.Int64N(int64(5*time.Second))), func() { c.start(n.addr) })
	}
}

func (c *chaos) pick() *node {
	if ns := c.w.living(); len(ns) > 0 {
		if a := c.w.acting(); a != nil && c.rng.IntN(2) == 0 {
			return a
		}
		return ns[c.rng.IntN(len(ns))]
	}
	return nil
}

// schedule lets bad things happen until the end.
func (c *chaos) schedule() {
	c.w.after(300*time.Millisecond+time.Duration(c.rng.Int64N(int64(12*time.Second))), func() {
		if c.w.now >= c.end {
			return
		}
		c.strike()
		c.schedule()
	})
}

func (c *chaos) strike() {
	total := 0
	for _, x := range c.weights {
		total += x
	}
	if total == 0 {
		return
	}
	k, i := c.rng.IntN(total), 0
	for ; k >= c.weights[i]; i++ {
		k -= c.weights[i]
	}
	n := c.pick()
	if n == nil {
		c.start(addrs(c.founded)[c.rng.IntN(c.founded)])
		return
	}
	c.strikeOne(i, n)
	if c.rng.IntN(4) == 0 {
		c.w.cut = nil
	}
}

func (c *chaos) strikeOne(kind int, n *node) {
	w, r := c.w, c.rng
	switch kind {
	case 0:
		c.partition()
	case 1: // alone
		w.cut = func(a, b *node) bool { return (a.addr == n.addr) != (b.addr == n.addr) }
	case 2:
		c.cutOneWay()
	case 3:
		n.crash()
		if r.IntN(2) == 0 {
			w.after(time.Duration(r.Int64N(int64(6*time.Second))), func() { c.start(n.addr) })
		}
	case 4:
		if d := time.Duration(r.Int64N(int64(c.pause))); r.IntN(4) > 0 {
			n.pause(d)
		} else {
			w.pauseAll(d)
		}
	case 5:
		c.grow()
	case 6:
		n.step(Leave{})
	case 7:
		if v := n.m.View(); v != nil {
			n.step(Down{v.Members[r.IntN(len(v.Members))].UID})
		}
	case 8:
		c.hints()
	default:
		w.cut = nil
	}
}

func (c *chaos) partition() {
	group := make(map[string]int)
	for _, a := range addrs(chaosAddrs) {
		group[a] = c.rng.IntN(2 + c.rng.IntN(2))
	}
	c.w.cut = func(a, b *node) bool { return group[a.addr] != group[b.addr] }
	if c.rng.IntN(2) == 0 {
		c.hints()
	}
}

func (c *chaos) cutOneWay() {
	bad := make(map[[2]string]bool)
	as := addrs(chaosAddrs)
	for range 1 + c.rng.IntN(8) {
		bad[[2]string{as[c.rng.IntN(len(as))], as[c.rng.IntN(len(as))]}] = true
	}
	c.w.cut = func(a, b *node) bool { return bad[[2]string{a.addr, b.addr}] }
}

// grow starts a node at a new address.
func (c *chaos) grow() {
	if c.next < chaosAddrs && !c.tooFresh(addrs(chaosAddrs)[c.next]) {
		c.start(addrs(chaosAddrs)[c.next])
		c.next++
	}
}

// hints are what a failure detector may say, right or wrong.
func (c *chaos) hints() {
	for _, n := range c.w.living() {
		v := n.m.View()
		if v == nil {
			continue
		}
		for _, o := range v.Members {
			to := c.w.byUID[o.UID]
			cut := c.w.cut != nil && c.w.cut(to, n)
			if cut || c.rng.IntN(6) == 0 {
				c.w.after(time.Duration(c.rng.Int64N(int64(5*time.Second))), func() {
					n.step(Hint{Addr: o.Addr, UID: o.UID, Alive: c.rng.IntN(8) == 0})
				})
			}
		}
	}
}

// peace heals everything, starts what was down and demands that the cluster comes together.
func (c *chaos) peace() {
	w := c.w
	c.heal, w.cut, w.loss, w.straggle = true, nil, 0, 0
	clear(c.left) // the last view may need the disks of nodes that went when no node was there to note it
	for _, n := range w.living() {
		n.paused = min(n.paused, w.now)
	}
	c.startAll()
	if w.until(300*time.Second, func() bool {
		return len(w.living()) == 0 || w.converged() && w.moved() && w.listed()
	}) {
		return
	}
	w.checker.fault(w, "did not come together")
	for _, n := range w.living() {
		w.checker.fault(w, "  %v", n.m)
	}
}

// startAll starts whatever is down, and looks again later for what could not be started yet.
func (c *chaos) startAll() {
	for _, a := range addrs(c.next) {
		c.start(a)
	}
	c.introduce()
	c.w.after(5*time.Second, c.startAll)
}

// introduce names the members to the seeking nodes, as memberlist does when it reaches any node at
// all: their seeds may all be down.
func (c *chaos) introduce() {
	for _, n := range c.w.living() {
		for _, o := range c.w.living() {
			if n.m.View() == nil && o.m.View() != nil {
				n.step(Hint{Addr: o.addr, UID: o.uid, Alive: true})
			}
		}
	}
}

func (c *chaos) play() {
	c.schedule()
	c.w.run(c.end)
	c.peace()
	c.w.checker.history(c.w)
}

// steady is the timing of the LAN preset, hostile leaves safety to the lease rules alone.
func steady() Config { return LAN() }

func hostile() Config {
	c := LAN()
	c.UnreachableAfter, c.StableAfter, c.LeaseDuration = 2*time.Second, time.Millisecond, 10*time.Second
	c.Plant(defect.Of(defect.AnyTiming))
	c.SelfDownAfter = 25 * time.Second
	return c
}

func timing(seed uint64) Config {
	if seed%3 == 0 {
		return hostile()
	}
	return steady()
}

// TestKeptSeeds plays worlds that once showed an error. Package proptest/sim plays new ones, with
// the drivers.
func TestKeptSeeds(t *testing.T) {
	plain := func(seed uint64) Config { return timing(seed) }
	by := func(s downing.Strategy) func(uint64) Config {
		return func(seed uint64) Config {
			c := timing(seed)
			c.Strategy = s
			return c
		}
	}
	fewVote := func(seed uint64) Config {
		c := timing(seed)
		c.VotersMax = 2
		return c
	}
	for _, k := range []struct {
		base  func(uint64) Config
		seeds []uint64
	}{
		{plain, []uint64{9, 21, 814, 1247, 3595, 6697, 7020, 11689}},
		{by(downing.Manual{}), []uint64{1320}}, {by(downing.KeepOldest{}), []uint64{422}}, {fewVote, []uint64{254}},
	} {
		for _, seed := range k.seeds {
			c := newChaos(t, seed, k.base(seed))
			c.play()
			for _, f := range c.w.checker.faults {
				t.Errorf("seed %d: %s", seed, f)
			}
		}
	}
}
