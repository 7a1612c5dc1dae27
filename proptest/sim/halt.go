package sim

import "time"

// halt stops a process between two effects of one step. The rest of the effects is carried out when
// the process goes on, before anything else happens to it.
type halt struct {
	in   int // effects until the process stops; 0: it does not
	span time.Duration
	late []func() // effects that wait, in order
}

// haltSoon has the process stop before one of its next effects.
func (p *Process) haltSoon(effects int, span time.Duration) { p.halt.in, p.halt.span = effects, span }

// effect carries out an effect of a step, or keeps it until the process goes on.
func (p *Process) effect(fn func()) {
	h := &p.halt
	stops := false
	if h.in > 0 {
		h.in--
		stops = h.in == 0 && !p.frozen
	}
	if stops {
		p.w.counts.Halts++
		p.w.trace.Line(p, "STOPS within a step")
		p.pause(h.span)
	}
	switch {
	case !stops && len(h.late) == 0:
		fn()
	case p.w.planted.restless:
		h.late = append(h.late, func() {})
	default:
		h.late = append(h.late, fn)
	}
}

// takeLate returns the effect that waits longest; nil: none does.
func (h *halt) takeLate() func() {
	if len(h.late) == 0 {
		return nil
	}
	fn := h.late[0]
	h.late = h.late[1:]
	return fn
}
