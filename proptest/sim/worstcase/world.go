package worstcase

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// World is what a script needs of the world that it plays in. Slots are numbered from 0; on each runs
// at most one process.
type World interface {
	Now() int64
	After(d time.Duration, run func())
	// Healed reports whether nothing may break any more.
	Healed() bool
	// Well reports whether as many nodes as at first run, and all that run see each other Up.
	Well() bool
	// Drops reports whether the cluster drops members of its own accord, and not at an operator's word
	// alone.
	Drops() bool

	// Slots is how many there are, of which Founders were used first.
	Slots() int
	Founders() int
	Runs(slot int) bool
	// View is what the process on a slot has installed; Newest is the newest view of all, nil
	// if there is none; SlotOf is where an incarnation runs, or ran.
	View(slot int) *view.View
	Newest() *view.View
	SlotOf(view.UID) int
	// TwoOldest are the two oldest of at least three voters, of which the first holds its lease;
	// ok is false when there are no such two.
	TwoOldest() (first, second int, ok bool)

	// Start starts a node, and Restart one that has run on the slot before and has not left for good.
	Start(slot int)
	Restart(slot int)
	// Crash ends a process in a crash of all, Thin one that was superfluous, Leave one in order.
	Crash(slot int)
	Thin(slot int)
	Leave(slot int)
	// Pause has a process stand still, and StallDisk the disk of a slot commit nothing.
	Pause(slot int, d time.Duration)
	StallDisk(slot int, d time.Duration)
	// Down is an operator's verdict about the process on a slot, told to another one.
	Down(slot, told int)
	// OnInstall has seen called with every view that is installed; nil ends that.
	OnInstall(seen func(*view.View))

	Note(format string, args ...any)
	Violate(check, format string, args ...any)
}

// Stage is a world with the network, and the draws, of a script.
type Stage struct {
	World
	Net *network.Network
	Rng *rand.Rand
}

// between draws a time.
func (s Stage) between(least, most time.Duration) time.Duration {
	return time.Duration(random.Between(s.Rng, int64(least), int64(most)))
}

// moment is a short while, of any order of magnitude.
func (s Stage) moment() time.Duration {
	most := random.Pick(s.Rng, 2*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond, 500*time.Millisecond)
	return s.between(0, most)
}

// thinOut kills some, so that the next round has slots to grow with.
func (s Stage) thinOut() {
	for i := s.Founders(); i < s.Slots(); i++ {
		if s.Runs(i) && s.Rng.IntN(2) == 0 {
			s.Thin(i)
		}
	}
}

// open ends whatever the script did to the network.
func (s Stage) open() {
	s.OnInstall(nil)
	s.Net.Cut(nil)
	s.Net.LoseBy(nil)
	s.Net.HoldBy(nil)
	s.Net.SlowBy(nil)
}
