package disks

import (
	"math/rand/v2"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/sim/history"
)

// Copies are those of directories that an operator has made while no node ran on them. Now and then one is put
// in the place of its directory, which is a mistake: what the node has said since that it has is gone.
type Copies struct {
	rng  *rand.Rand
	made map[*Disk]*durable.Memory

	Restored uint64 // how often that was
}

// NewCopies returns no copies.
func NewCopies(rng *rand.Rand) *Copies { return &Copies{rng: rng, made: map[*Disk]*durable.Memory{}} }

// Turn is what the operator does with a directory on which no node runs.
func (c *Copies) Turn(d *Disk) {
	old := c.made[d]
	switch k := c.rng.IntN(8); {
	case old == nil && k < 4, k == 4:
		c.made[d] = d.env.Copy()
	case old != nil && k < 2:
		delete(c.made, d)
		c.Restored++
		d.trace.Note(d.w, "OPERATOR puts back a copy of the disk of n%d", d.set.Slot)
		d.mount(old)
		d.w.Ruined(d.set.Slot, history.Lied)
	}
}
