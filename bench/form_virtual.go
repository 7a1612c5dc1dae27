package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/queue"
)

// formSimulated plays membership machines alone, in virtual time over a network of half a
// millisecond and more: all but three join the three that found the cluster within a second, then
// every tenth crashes.
func formSimulated(ctx context.Context, n, voters int) error {
	w := &village{
		rng: rand.New(rand.NewPCG(1, uint64(n))), sizes: map[any]int{},
		byUID: map[view.UID]*virtualNode{}, byAddr: map[string]*virtualNode{},
	}
	var real measure.Cost
	var joined, crashed time.Duration
	var joinBytes, idleBytes, crashBytes int
	const idle = 20 * time.Second
	err := real.Measure(1, func() error {
		for i := range n {
			w.at(time.Duration(w.rng.Int64N(int64(time.Second))), func() { w.start(i, voters) })
		}
		if err := w.until(ctx, func() bool { return w.together(n) }); err != nil {
			return err
		}
		joined, joinBytes = w.now, w.bytes
		end := w.now + idle
		if err := w.until(ctx, func() bool { return w.now >= end }); err != nil {
			return err
		}
		idleBytes = w.bytes - joinBytes
		before := w.now
		for _, i := range w.rng.Perm(n)[:n/10] {
			w.folk[i].m = nil
		}
		if err := w.until(ctx, func() bool { return w.together(n - n/10) }); err != nil {
			return err
		}
		crashed, crashBytes = w.now-before, w.bytes-joinBytes-idleBytes
		return nil
	})
	if err != nil {
		return err
	}
	perNode := func(bytes int, d time.Duration) int { return int(float64(bytes) / d.Seconds() / float64(n)) }
	var f measure.Figures
	f.Add("voters", len(w.newest.Voters()))
	f.Add("join_virtual_ms", joined.Milliseconds())
	f.Add("join_bytes_per_s_per_node", perNode(joinBytes, joined))
	f.Add("idle_bytes_per_s_per_node", perNode(idleBytes, idle))
	f.Add("crash_of_tenth_virtual_ms", crashed.Milliseconds())
	f.Add("crash_bytes_per_s_per_node", perNode(crashBytes, crashed))
	f.Add("epochs", uint64(w.newest.Epoch))
	f.Add("events", w.events)
	f.Add("real_s", real.Wall.Seconds())
	f.Add("real_cpu_s", real.CPU.Seconds())
	measure.Report("form", "virtual-"+strconv.Itoa(n), f)
	return nil
}

// village is many machines in one virtual time.
type village struct {
	rng    *rand.Rand
	now    time.Duration
	queue  queue.Queue[struct{}]
	folk   []*virtualNode
	byUID  map[view.UID]*virtualNode
	byAddr map[string]*virtualNode
	bytes  int
	events int
	newest *view.View
	has    int         // how many have installed the newest view
	sizes  map[any]int // of what carries a view, or a change
}

// virtualNode is one machine; m is nil once it has crashed.
type virtualNode struct {
	w   *village
	uid view.UID
	m   *membership.Machine
	on  *view.View
	gen int
}

func (w *village) at(t time.Duration, do func()) {
	w.queue.Push(int64(t), struct{}{}, do)
}

// until lets time go on until cond holds, at most for ten virtual minutes.
func (w *village) until(ctx context.Context, cond func() bool) error {
	for end := w.now + 10*time.Minute; !cond(); w.events++ {
		if w.queue.Empty() || w.now > end {
			return fmt.Errorf("not together after %v of virtual time: %d of them in %d/%v",
				w.now, w.has, len(w.newest.Members), w.newest.Epoch)
		}
		if w.events%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		x := w.queue.Pop()
		w.now = time.Duration(x.At)
		x.Run()
	}
	return nil
}

func (w *village) start(i, voters int) {
	addr := func(i int) string { return fmt.Sprintf("10.0.%d.%d:7946", i/250, i%250+1) }
	cfg := membership.LAN()
	cfg.UID, cfg.Addr, cfg.Name, cfg.Roles, cfg.VotersMax = view.DrawUID(w.clock(), 0, w.rng.Uint64()),
		addr(i), "bench", []string{role}, voters
	for s := range formFounders {
		cfg.Seeds = append(cfg.Seeds, addr(s))
	}
	if i < formFounders {
		cfg.BootstrapExpect = formFounders
	}
	m, err := membership.New(cfg, rand.New(rand.NewPCG(w.rng.Uint64(), 1)), nil)
	if err != nil {
		panic(err) // the configuration above is valid
	}
	x := &virtualNode{w: w, uid: cfg.UID, m: m}
	w.folk = append(w.folk, x)
	w.byUID[x.uid], w.byAddr[cfg.Addr] = x, x
	x.step(membership.Tick{})
}

func (w *village) clock() time.Time { return time.Unix(1_000_000, 0).Add(w.now) }

func (x *virtualNode) step(in membership.Input) {
	if x.m == nil {
		return
	}
	fx := x.m.Step(x.w.clock(), in)
	for _, e := range fx.Send {
		x.w.carry(x, e)
	}
	for _, v := range fx.Install {
		x.installed(v)
	}
	if fx.Done != nil {
		x.m = nil
		return
	}
	x.gen++
	gen := x.gen
	x.w.at(x.w.now+max(x.m.Deadline().Sub(x.w.clock()), 1), func() {
		if x.gen == gen {
			x.step(membership.Tick{})
		}
	})
}

// installed plays the replicators, which have nothing to catch up with.
func (x *virtualNode) installed(v *view.View) {
	w := x.w
	x.on = v
	switch {
	case w.newest == nil || v.Epoch > w.newest.Epoch:
		w.newest, w.has = v, 1
	case v == w.newest || v.Epoch == w.newest.Epoch:
		w.has++
	}
	w.at(w.now+time.Millisecond, func() {
		x.step(membership.CaughtUp{Yes: true})
		x.step(membership.Settled{Epoch: v.Epoch})
	})
}

// together reports whether the newest view lists n members, all Up, and all of them have installed
// it.
func (w *village) together(n int) bool {
	return w.newest != nil && w.has == n && allUp(w.newest, n)
}

func (w *village) carry(from *virtualNode, e message.Envelope) {
	w.bytes += w.size(e.Msg)
	msg := e.Msg
	w.at(w.now+500*time.Microsecond+time.Duration(w.rng.ExpFloat64()*float64(500*time.Microsecond)), func() {
		to := w.byUID[e.To]
		if e.To == 0 {
			to = w.byAddr[e.Addr]
		}
		if to != nil {
			to.step(membership.Receive{From: from.uid, Msg: msg})
		}
	})
}

// size is the length of the encoded message; what carries a view to many is measured once.
func (w *village) size(msg message.Message) int {
	var one any
	switch m := msg.(type) {
	case message.Commit:
		one = m.View
	case message.Change:
		one = m.Change
	}
	n := w.sizes[one]
	if n == 0 {
		if n = len(message.Append(nil, msg)); one != nil {
			w.sizes[one] = n
		}
	}
	return n
}
