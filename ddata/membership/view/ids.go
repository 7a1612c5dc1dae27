package view

import "fmt"

// UID names one process incarnation. It is drawn at random at every start and never used again: a
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

// String prints the id as short hex.
func (u UID) String() string { return shortHex(uint64(u)) }

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
