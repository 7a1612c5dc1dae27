package replicator

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/wire"
)

// A question or an answer of a repair that gets lost is asked for again, also while large groups
// come from the donor without a pause.
func TestRepairAsksAgainBesideLargeGroups(t *testing.T) {
	for name, is := range map[string]func(wire.Message) bool{
		"pull":  func(m wire.Message) bool { _, ok := m.(*wire.Pull); return ok },
		"head":  func(m wire.Message) bool { _, ok := m.(*wire.Head); return ok },
		"cells": func(m wire.Message) bool { _, ok := m.(*wire.Cells); return ok },
		"want":  func(m wire.Message) bool { _, ok := m.(*wire.FetchItems); return ok },
		"give":  func(m wire.Message) bool { _, ok := m.(*wire.Items); return ok },
	} {
		t.Run(name, func(t *testing.T) {
			w := apart(t, slowLine, 200, 100)
			w.unchecked = true // each check walks over all items
			lost := 0          // in a row
			w.drop = func(p packet) bool {
				if lost == 3 || !is(p.msg) {
					return false
				}
				lost++
				return true
			}
			w.mendAll()
			began := w.now
			w.hops(2*time.Millisecond, 3*time.Second, func() bool {
				w.keepFlowing()
				return lost == 3 && w.repairs().Repairs == 2
			})
			st := w.repairs()
			if lost < 3 || st.Repairs != 2 || st.DonorsReplaced+st.RepairsBroken+st.Malformed > 0 {
				t.Fatalf("lost %d messages in %v: %+v", lost, w.now.Sub(began), st)
			}
			w.advance(5 * time.Second)
			w.same()
		})
	}
}

// A donor that never answers is given up in the end, also while large groups come from it without a
// pause.
func TestRepairGivesUpABusyDonor(t *testing.T) {
	w := apart(t, slowLine, 200, 100)
	w.unchecked = true
	w.drop = func(p packet) bool { _, ok := p.msg.(*wire.FetchItems); return ok }
	w.mendAll()
	began := w.now
	w.hops(2*time.Millisecond, 10*time.Second, func() bool {
		w.keepFlowing()
		return w.repairs().RepairsBroken > 0
	})
	if st, took := w.repairs(), w.now.Sub(began); st.RepairsBroken == 0 ||
		took < repair.BusyTries*slowLine.RetryInterval {
		t.Fatalf("after %v: %+v", took, st)
	}
}

// keepFlowing makes a large group at each node that sends none, so that flows follow each other
// without a pause.
func (w *world) keepFlowing() {
	for _, n := range w.nodes {
		if n.m.site.Peers[0].Flows.Len() == 0 {
			n.big(fmt.Sprint("big", w.seq), 20)
		}
	}
}
