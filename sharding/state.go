package sharding

import (
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/control"
)

// StateSettings say how the replicated state of a type is read and written: the table of homes, the
// list of regions, and remembered ids. All of it goes to a majority of the role's replicas, and
// more if that is asked for.
//
// A majority is enough to lose nothing when nodes come, go and die one after the other or by
// planned changes, however fast: a view is left behind only when what it knew has reached the next
// one. More than that protects from the loss of more nodes at one instant than a majority survives,
// and costs availability: with WritePlus 3 and ReadPlus 5, the reference's, up to 8 nodes every one
// has to answer, so that one which cannot be reached holds up new homes, moves, the first start of
// remembered entities and a takeover until it is removed. Known homes are routed to all the same.
type StateSettings struct {
	// WritePlus is how many replicas beside a majority must have written; All: every one. Default 0.
	WritePlus int
	// ReadPlus is how many beside a majority are asked by a new coordinator, and by a shard for its
	// ids; All: every one. Default 0.
	ReadPlus int
	// AtLeast is the least number of both, if there are as many. In a cluster of 3 to 5 nodes, 3
	// makes any two of them expendable, and needs 3 to go on. Default 0: a majority.
	AtLeast int
	// WriteTimeout bounds one write, and ReadTimeout one read. What was not answered by then is
	// repeated, without end. A shorter time finds another way sooner when a node has just died; a
	// longer one repeats less on a slow network. What is read may be large, such as the ids of a
	// million entities, and what is written may stand in a long queue for the disks. So each time
	// in a row that a read, or a shard's write of ids, fails, it gets twice the time, up to 32
	// times what is set. So a large one can succeed in the end. Defaults 5 s and 2 s.
	WriteTimeout, ReadTimeout time.Duration
}

// All, as StateSettings.WritePlus or ReadPlus, asks for every replica.
const All = -1

func (s StateSettings) withDefaults() StateSettings {
	if s.WriteTimeout == 0 {
		s.WriteTimeout = 5 * time.Second
	}
	if s.ReadTimeout == 0 {
		s.ReadTimeout = 2 * time.Second
	}
	return s
}

// validate reports every fault together.
func (s StateSettings) validate() error {
	var faults []error
	fault := func(bad bool, name string, v any, want string) {
		if bad {
			faults = append(faults, fmt.Errorf("%s is %v, want %s", name, v, want))
		}
	}
	fault(s.WritePlus < All, "WritePlus", s.WritePlus, "0 or more, or sharding.All")
	fault(s.ReadPlus < All, "ReadPlus", s.ReadPlus, "0 or more, or sharding.All")
	fault(s.AtLeast < 0, "AtLeast", s.AtLeast, "0 or more")
	fault(s.WriteTimeout < 0, "WriteTimeout", s.WriteTimeout, "more than 0")
	fault(s.ReadTimeout < 0, "ReadTimeout", s.ReadTimeout, "more than 0")
	return errors.Join(faults...)
}

// quorums are the levels and times that the settings stand for.
func (s StateSettings) quorums() control.Quorums {
	return control.Quorums{
		Write: s.level(s.WritePlus), WriteTimeout: s.WriteTimeout,
		Read: s.level(s.ReadPlus), ReadTimeout: s.ReadTimeout,
	}
}

func (s StateSettings) level(plus int) quorum.Level {
	if plus == All {
		return quorum.All
	}
	return quorum.MajorityPlus(plus, s.AtLeast)
}
