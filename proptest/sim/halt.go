package sim

import (
	"slices"
	"time"
)

// halt stops a process between two effects of one step. The rest of the effects is carried out when
// the process goes on, before anything else happens to it.
type halt struct {
	in   int // effects until the process stops; 0: it does not
	span time.Duration
	late []func() // effects that wait, in order

	// carrying: one that waited is being carried out, and the process has not stopped again.
	carrying bool
	next     int // where the next one belongs in late: what an effect brings about, before those after it
}

// haltSoon has the process stop before one of its next effects; 0: it does not any more.
func (p *Process) haltSoon(effects int, span time.Duration) { p.halt.in, p.halt.span = effects, span }

// waits reports whether what comes now has to wait until the process goes on.
func (h *halt) waits() bool { return len(h.late) > 0 && !h.carrying }

// effect carries out an effect of a step, or keeps it until the process goes on.
func (p *Process) effect(fn func()) {
	if p.acts() {
		fn()
	} else {
		p.halt.keep(fn)
	}
}

// acts counts an effect of a step, and reports whether it is carried out now. If not, keep takes it.
func (p *Process) acts() bool {
	h := &p.halt
	stops := false
	if h.in > 0 {
		h.in--
		stops = h.in == 0 && !p.frozen
	}
	if stops {
		p.w.counts.Halts++
		p.w.trace.Fault(p, "STOPS within a step")
		h.carrying = false
		p.pause(h.span)
	}
	return !stops && !h.waits()
}

// keep keeps an effect until the process goes on.
func (h *halt) keep(fn func()) {
	h.late = slices.Insert(h.late, h.next, fn)
	h.next++
}

// carryLate carries out the effect that waits longest, and reports whether one did.
func (p *Process) carryLate() bool {
	h := &p.halt
	if len(h.late) == 0 {
		return false
	}
	fn := h.late[0]
	h.late = h.late[1:]
	if h.carrying, h.next = true, 0; !p.w.planted.Restless {
		fn()
	}
	h.carrying, h.next = false, len(h.late)
	return true
}
