package sim

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/worstcase"
)

var _ worstcase.World = worstWorld{}

// worstWorld is the world, as the scripts of worst cases see it.
type worstWorld struct{ w *World }

// worst plays a script of worst cases.
func worst(script func(worstcase.Stage)) func(*chaos) {
	return func(c *chaos) { script(worstcase.Stage{World: worstWorld{c.w}, Net: c.w.net, Rng: c.rng}) }
}

// Now implements worstcase.World, as do the other methods.
func (x worstWorld) Now() int64                        { return x.w.now }
func (x worstWorld) After(d time.Duration, run func()) { x.w.after(d, nil, run) }
func (x worstWorld) Healed() bool                      { return x.w.healed }
func (x worstWorld) Well() bool                        { return x.w.live.allUp(x.w.opt.Nodes) }
func (x worstWorld) Drops() bool                       { return x.w.opt.Strategy.DropsUnreachable() }
func (x worstWorld) Slots() int                        { return len(x.w.slots) }
func (x worstWorld) Founders() int                     { return x.w.opt.Nodes }
func (x worstWorld) Runs(slot int) bool                { return x.w.slots[slot].proc != nil }

func (x worstWorld) View(slot int) *view.View {
	if p := x.w.slots[slot].proc; p != nil {
		return p.mem.view
	}
	return nil
}

func (x worstWorld) Newest() (newest *view.View) {
	for _, p := range x.w.live {
		if v := p.mem.view; v != nil && (newest == nil || v.Epoch > newest.Epoch) {
			newest = v
		}
	}
	return newest
}

func (x worstWorld) SlotOf(u view.UID) int { return x.w.procs[uint64(u)].slot.index }

func (x worstWorld) TwoOldest() (first, second int, ok bool) {
	p, q := x.w.live.twoOldest(x.w)
	if p == nil {
		return 0, 0, false
	}
	return p.slot.index, q.slot.index, true
}

func (x worstWorld) Start(slot int) {
	s := x.w.slots[slot]
	s.retired = false
	if s.proc == nil {
		x.w.startProcess(s)
	}
}

func (x worstWorld) Restart(slot int) { x.w.restart(x.w.slots[slot]) }

func (x worstWorld) Crash(slot int) {
	x.w.counts.Crashes++
	x.w.slots[slot].proc.end("crash of all")
}

func (x worstWorld) Thin(slot int)                   { x.w.slots[slot].proc.end("thinned out") }
func (x worstWorld) Leave(slot int)                  { x.w.chaos.leave(x.w.slots[slot].proc) }
func (x worstWorld) Pause(slot int, d time.Duration) { x.w.slots[slot].proc.pause(d) }

func (x worstWorld) StallDisk(slot int, d time.Duration) {
	x.w.slots[slot].disk.Stall(x.w.now + int64(d))
}

func (x worstWorld) Down(slot, told int) {
	if p, q := x.w.slots[slot].proc, x.w.slots[told].proc; p != nil && q != nil {
		q.mem.down(p.uid)
	}
}

func (x worstWorld) OnInstall(seen func(*view.View))           { x.w.chaos.onInstall = seen }
func (x worstWorld) Note(format string, args ...any)           { x.w.trace.Line(x.w, format, args...) }
func (x worstWorld) Violate(check, format string, args ...any) { x.w.violate(check, format, args...) }
