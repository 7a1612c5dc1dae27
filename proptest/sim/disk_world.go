package sim

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/proptest/sim/disks"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

var (
	_ disks.World = diskWorld{}
	_ disks.Owner = (*Process)(nil)
)

// diskWorld is the world, as the disks see it.
type diskWorld struct{ leaseWorld }

// newDisk is the empty disk of a slot.
func newDisk(w *World, slot int, roles []string) *disks.Disk {
	set := disks.Settings{
		Slot: slot, Min: w.opt.DiskMin, Max: w.opt.DiskMax, Fail: w.opt.DiskFail, Torn: w.opt.Torn,
		Early: w.planted.Early, StaleMark: w.planted.StaleMark,
	}
	for _, of := range keyspace.Datasets(roles) {
		set.Tables = append(set.Tables, rows.Table(of))
	}
	return disks.New(set, diskWorld{leaseWorld{netWorld{w}}},
		w.rs.Stream("disk", uint64(slot)), w.rs.Stream("disk faults", uint64(slot)), &w.trace)
}

// At implements disks.World.
func (d diskWorld) At(t int64, owner disks.Owner, run func()) { d.w.at(t, owner.(*Process), run) }

// Ruined implements disks.World. It notes what has become of what the disk said that it has.
func (d diskWorld) Ruined(slot int, why history.Fate) {
	for _, s := range d.w.datasets {
		loaded, err := rows.Load(d.w.slots[slot].disk.Table(rows.Table(s.set())))
		if err != nil {
			panic(err)
		}
		kept := loaded.Clock
		if kept == nil {
			kept = &crdt.Clock{}
		}
		for _, p := range d.w.procs { // order: each by itself
			if r := p.replica(s.role); r != nil && p.slot.index == slot {
				r.ruin, r.kept = why, kept
			}
		}
		s.history.Ruined(slot, kept)
	}
}
