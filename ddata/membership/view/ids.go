package view

import (
	"fmt"
	"time"
)

// UID names one process incarnation. It is drawn at every start (DrawUID) and never used again: a
// restarted process is another member. Zero is no UID.
type UID uint64

// DiskID names a data directory, for as long as the directory lives. Zero says that the node has no
// disk.
type DiskID uint64

// Epoch numbers the views of one cluster. It only grows; zero is before the first view.
type Epoch uint64

// ClusterID names a cluster from its first founding on, across complete restarts. Zero is no
// cluster.
type ClusterID uint64

// Hash is a 128-bit hash of a view.
type Hash [16]byte

// The parts of a UID, from the highest bit on:
//
//	4 bits    all set, so that it is above most UIDs of builds before, which drew all bits at random
//	20 bits   the wall time of the draw since 1970, in units of UIDUnit: enough until 2106
//	40 bits   random
//
// UIDs rise with time so that one bound names almost all incarnations that are over (Retirement). Nothing
// else relies on the time in them. A wrong clock costs little: incarnations whose UIDs are above the
// bound are named by a later one, members below it are spared, and a node that draws a UID which is
// named is told the bound and draws again above it. Which incarnations are over is never read from a
// UID: views say so, and a view names no member.
const (
	uidRandom = 40 // bits
	uidStep   = UID(1) << uidRandom
	uidLast   = UID(1<<24-1) << uidRandom // the last unit

	// UIDUnit is how long all UIDs that are drawn have the same time.
	UIDUnit = 1 << 12 * time.Second
)

// UIDsFrom is the lowest UID that is drawn at a time or later, by the clock that shows it.
func UIDsFrom(t time.Time) UID {
	units := min(max(0, t.Unix()/int64(UIDUnit/time.Second)), 1<<20-1)
	return 0xf<<60 | UID(units)<<uidRandom
}

// DrawUID makes the UID of an incarnation that starts now: not below least, which is a bound that the
// node was told or 0. The random bits are the lower ones of random.
func DrawUID(now time.Time, least UID, random uint64) UID {
	unit := UIDsFrom(now)
	if least > unit {
		unit = nextUnit(least - 1)
	}
	return unit | UID(random)&(uidStep-1)
}

// nextUnit is the lowest UID of the unit after that of u; of the last unit itself, if it is that.
func nextUnit(u UID) UID { return min(u, uidLast-1)&^(uidStep-1) + uidStep }

// String prints the id as short hex: of one that rises with time the lower half, which is random.
func (u UID) String() string {
	if u > 0xffffffff {
		return fmt.Sprintf("%08x", uint32(u))
	}
	return fmt.Sprintf("%x", uint64(u))
}

// String prints the id as short hex.
func (d DiskID) String() string { return shortHex(uint64(d)) }

// String prints the id as short hex.
func (c ClusterID) String() string { return shortHex(uint64(c)) }

// String prints the number with the letter e in front.
func (e Epoch) String() string { return fmt.Sprintf("e%d", uint64(e)) }

// String prints the first four bytes.
func (h Hash) String() string { return fmt.Sprintf("%x", h[:4]) }

func shortHex(x uint64) string {
	if x > 0xffffffff {
		return fmt.Sprintf("%08x", x>>32)
	}
	return fmt.Sprintf("%x", x)
}

// Tag is what heartbeats carry of a view's hash.
func (h Hash) Tag() (t uint64) {
	for _, b := range h[:8] {
		t = t<<8 | uint64(b)
	}
	return t
}
