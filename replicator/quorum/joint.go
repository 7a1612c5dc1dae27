package quorum

import (
	"math"
	"slices"
)

// Joint is the sets that count together. The zero value has none, and nothing is agreed.
type Joint[P comparable] struct {
	complete bool     // every view since the settled one is among the sets, or has the same voters
	sets     []Set[P] // of the installed view first, then of the unsettled ones
	bases    []uint64 // scratch of Reach
}

// Replace takes the sets that count from now on, that of the installed view first. It keeps the
// slice.
func (j *Joint[P]) Replace(complete bool, sets []Set[P]) { j.complete, j.sets = complete, sets }

// Complete reports whether all sets that must count are known. Until then nothing is agreed.
func (j *Joint[P]) Complete() bool { return j.complete }

// Newest returns the set of the installed view.
func (j *Joint[P]) Newest() *Set[P] { return &j.sets[0] }

// Lacking returns the first set in which fewer members than the level needs satisfy has, nil if
// there is none.
func (j *Joint[P]) Lacking(l Level, has func(P) bool) *Set[P] {
	for i := range j.sets {
		if v := &j.sets[i]; v.Tally(has) < v.Need(l) {
			return v
		}
	}
	return nil
}

// Agreed reports whether, in every set, as many members as the level needs satisfy has.
func (j *Joint[P]) Agreed(l Level, has func(P) bool) bool {
	return j.complete && j.Lacking(l, has) == nil
}

// MayAgree reports whether n members could be as many as the level needs, in every set. Where they come one by one,
// that is asked before Agreed, which looks at all members.
func (j *Joint[P]) MayAgree(l Level, n int) bool {
	for i := range j.sets {
		if n < j.sets[i].Need(l) {
			return false
		}
	}
	return true
}

// Taught reports whether, in every set, a majority satisfies has, or all others where that is less; n do at most. The
// own replica is not asked.
func (j *Joint[P]) Taught(n int, has func(P) bool) bool {
	if !j.complete {
		return false
	}
	for i := range j.sets {
		v := &j.sets[i]
		need, others := min(v.Need(Majority), len(v.Peers)), Set[P]{Peers: v.Peers}
		if n < need || others.Tally(has) < need {
			return false
		}
	}
	return true
}

// Reach returns the last number that enough members have reached for the level, in every set; 0 if that is below
// from. base tells how far a member has come, and whether it counts at all.
func (j *Joint[P]) Reach(l Level, from uint64, base func(P) (uint64, bool)) uint64 {
	if !j.complete {
		return 0
	}
	r := uint64(math.MaxUint64)
	for i := range j.sets {
		v := &j.sets[i]
		r = min(r, j.common(v, v.Need(l), from, base))
	}
	return r
}

// common returns the last number that n members of a set have reached; 0 if that is below from.
func (j *Joint[P]) common(v *Set[P], n int, from uint64, base func(P) (uint64, bool)) uint64 {
	if n <= 0 {
		return math.MaxUint64
	}
	bases := j.bases[:0]
	if v.Self {
		var own P
		if b, ok := base(own); ok && b >= from {
			bases = append(bases, b)
		}
	}
	for _, p := range v.Peers {
		if b, ok := base(p); ok && b >= from {
			bases = append(bases, b)
		}
	}
	j.bases = bases
	if len(bases) < n {
		return 0
	}
	slices.Sort(bases)
	return bases[len(bases)-n]
}

// Choose returns the peers to ask: of each set as many as one of the levels needs and a spare one,
// those first that another set asks anyway; with all, or while sets are missing, every peer. order
// returns the peers of a set with the best to ask first.
func (j *Joint[P]) Choose(levels []Level, all bool, order func([]P) []P) []P {
	var out []P
	for i := len(j.sets) - 1; i >= 0; i-- { // the newest last: most of the others are in it
		v, before := &j.sets[i], out
		need := 0
		for _, l := range levels {
			need = max(need, v.Need(l))
		}
		if v.Self {
			need--
		}
		if need <= 0 && !all {
			continue
		}
		need++
		if all || !j.complete {
			need = len(v.Peers)
		}
		for _, p := range v.Peers {
			if slices.Contains(before, p) {
				need--
			}
		}
		for _, p := range order(v.Peers) {
			if need > 0 && !slices.Contains(before, p) {
				out = append(out, p)
				need--
			}
		}
	}
	return out
}
