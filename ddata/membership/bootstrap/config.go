package bootstrap

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Config tells a Seeker of its node.
type Config struct {
	Common
	Self      view.Member      // this node as it asks to be listed
	Seeds     []string         // addresses to ask for a cluster
	Discovers bool             // a source of addresses is asked, and has to show the whole scene
	Expect    int              // how many nodes found a cluster; 0 = this one never does
	AnyDisks  bool             // an operator's word: disks that are missing will not come back
	Durable   []string         // patterns of durable keys that this node brings
	VotersMax int              // of the views that it founds; 0: all vote
	DiskSince time.Time        // since when the last incarnation has granted nothing; zero = unknown
	DiskEnded bool             // the last incarnation has ended for certain
	Strategy  downing.Strategy // says how many disks of a view have to be there
	// Enough reports whether so many members may become Up.
	Enough func([]view.Member) bool

	Beat        time.Duration // between two rounds of probes at most
	StableAfter time.Duration // how long discovery must have named the same
	Timeout     time.Duration // for a founding, or a cluster that fell silent
	TTL         time.Duration // how long a candidate counts after its last probe
	Promise     time.Duration // L(1+ε): how long leases of an earlier incarnation may run
	Defects     defect.Set    // planted by a test
}
