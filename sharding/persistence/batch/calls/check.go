package calls

import "fmt"

// checkInvariants panics if the machine has broken a rule of its own. Tests call it after each step.
func (m *Machine) checkInvariants() {
	held, bytes, running, ready := 0, 0, 0, 0
	failing := [ports]int{}
	see := func(o *Op, s stage, what string) {
		assert(o.stage == s, "%v %s is in stage %d", o, what, o.stage)
		held, bytes = held+1, bytes+o.Bytes
	}
	for id, h := range m.hostings { // order: it only counts
		assert(h.id == id, "hosting %v stands at %v", h.id, id)
		calls, waits := 0, [ports]int{}
		for _, l := range h.lanes {
			if l == nil {
				continue
			}
			size := 0
			for _, o := range l.queue.Items() {
				see(o, waiting, "waits and")
				size += o.Bytes
			}
			assert(size == l.bytes, "a lane counts %d bytes of %d", l.bytes, size)
			assert(h.ended == nil || l.queue.Len() == 0, "%v has ended and waits", id)
			waits[l.store] += l.queue.Len()
			if l.call != nil {
				calls++
				for _, o := range l.call.Ops {
					if o.stage != over {
						see(o, called, "in a call")
					}
				}
			}
			if l.failing {
				failing[l.store]++
			}
			if l.ready {
				ready++
			}
			assert(l.alarm.IsZero() || m.alarms[l.place] == l, "an alarm is not in its place")
		}
		assert(waits == h.waiting, "%v counts %v waiting of %v", id, h.waiting, waits)
		assert(calls == h.running, "%v counts %d calls of %d", id, h.running, calls)
		running += calls
	}
	assert(held == m.held && bytes == m.heldBytes, "%d held of %d bytes, counted %d of %d",
		held, bytes, m.held, m.heldBytes)
	assert(running == m.running && running <= m.cfg.InFlightMax, "%d calls, counted %d", running, m.running)
	assert(ready <= m.line.Len(), "%d lanes are ready, %d in line", ready, m.line.Len())
	assert(held <= m.cfg.WaitingMax, "%d held", held)
	for i, h := range m.health {
		assert(h.failing == failing[i], "store %d counts %d failing lanes of %d", i, h.failing, failing[i])
	}
}

func assert(ok bool, format string, args ...any) {
	if !ok {
		panic("calls: " + fmt.Sprintf(format, args...))
	}
}
