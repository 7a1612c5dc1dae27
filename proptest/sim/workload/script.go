package workload

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Kind is what a Harm does.
type Kind uint8

// The kinds of faults.
const (
	// Crash kills the node, with all that its disk has not committed. It starts again after For.
	Crash Kind = iota
	// Pause has the node stand still for For, as after SIGSTOP. Its clock goes on.
	Pause
	// Leave has the node leave in order: its shards are handed off. It joins again For after it has
	// left.
	Leave
	// Cut parts the node from all others for For.
	Cut
	// SlowDisk has the node's disk commit nothing for For.
	SlowDisk
	// Kinds is how many there are.
	Kinds
)

var kindNames = [Kinds]string{"crashes", "stands still", "leaves in order", "is cut off", "has a disk that stalls"}

func (k Kind) String() string { return kindNames[k] }

// Harm is what happens to a node.
type Harm struct {
	At, For time.Duration // At counts from the beginning of the script
	Kind    Kind
	Node    int // by number, from 0
}

func (f Harm) String() string { return fmt.Sprintf("n%d %v, for %v", f.Node, f.Kind, f.For) }

// Script is what happens in a world that runs a Workload.
type Script struct {
	Nodes  int
	Length time.Duration // until the world is healed, from the moment at which the script begins
	Faults []Harm
	Begin  Begin
}

// Users makes the workload of a world: that of the script, or, without a script, None.
func (s *Script) Users(w World, rs random.Streams, t *trace.Trace) Workload {
	if s == nil {
		return None{}
	}
	return s.Begin(w, rs, t)
}

// Forms is how long a world has until its script begins: its nodes form a cluster meanwhile.
const Forms = 5 * time.Second
