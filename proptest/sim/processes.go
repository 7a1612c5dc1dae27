package sim

import "slices"

// processes are those that run, in the order of their start.
type processes []*Process

// twoOldest are the two oldest live processes of the newest view.
func (ps processes) twoOldest(w *World) (first, second *Process) {
	for _, p := range ps {
		if !p.mem.oldest || p.mem.view == nil || !p.mem.holds(p.Time()) {
			continue
		}
		vs := p.mem.view.Voters()
		if len(vs) < 3 {
			return nil, nil
		}
		second = w.procs[uint64(vs[1].UID)]
		if !second.alive {
			return nil, nil
		}
		return p, second
	}
	return nil, nil
}

// keeper is the eldest process that may host; nil: there is none.
func (ps processes) keeper() *Process {
	i := slices.IndexFunc(ps, func(p *Process) bool { return !p.types[0].proxy })
	if i < 0 {
		return nil
	}
	return ps[i]
}

// allUp reports whether so many processes run, and see each other Up.
func (ps processes) allUp(n int) bool {
	up := 0
	for _, p := range ps {
		if p.mem.view == nil || len(p.mem.view.Members) != len(ps) {
			return false
		}
		if p.up() {
			up++
		}
	}
	return up >= n && up == len(ps)
}

// runs reports whether a remembered entity is alive somewhere.
func (ps processes) runs(e closed) bool {
	for _, p := range ps {
		if h := p.types[0].shards[e.shard]; h != nil && h.entities[e.id] != nil && h.entities[e.id].active {
			return true
		}
	}
	return false
}
