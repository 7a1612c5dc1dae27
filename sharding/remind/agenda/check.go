package agenda

import "fmt"

// checkInvariants panics if the agenda has broken a rule of its own. Tests call it after each step.
func (a *Agenda) checkInvariants() {
	if a.fenced != nil {
		assert(len(a.flights)+len(a.sets)+len(a.ends) == 0 && a.Deadline().IsZero(), "fenced, and not over: %v", a)
		return
	}
	assert(len(a.flights) <= a.cfg.FiringMax, "%d flights, at most %d", len(a.flights), a.cfg.FiringMax)
	assert(len(a.sets) <= SetsMax, "%d sets wait", len(a.sets))
	ends := len(a.ends)
	if a.write != nil {
		assert(len(a.write.IDs) == len(a.write.Changes), "a write has %d changes and %d IDs",
			len(a.write.Changes), len(a.write.IDs))
		for _, id := range a.write.IDs {
			if id == 0 {
				ends++
			}
		}
	}
	for k, f := range a.flights { // order: each is looked at
		assert(f.Key() == k, "%v stands at %v", f.Key(), k)
		assert(f.stage != waiting || !a.draining, "%v waits for room while nothing is handed out", k)
		assert(f.stage != over || a.look.under, "%v is over, and no read is under way", k)
		if f.stage == ending {
			ends--
		}
	}
	assert(ends == 0, "%d ends more than flights that end", ends)
	assert(len(a.sets)+len(a.ends) == 0 || a.write != nil || !a.writeTry.at.IsZero(),
		"changes wait for nothing")
}

func assert(ok bool, format string, args ...any) {
	if !ok {
		panic("agenda: " + fmt.Sprintf(format, args...))
	}
}
