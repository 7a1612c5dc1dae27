package keyspace

import "fmt"

// Space is one of the two halves of a Replicator. Each has its own clock, log and digest.
type Space uint8

// The spaces.
const (
	Volatile Space = iota // in memory only
	Durable               // an ack means: committed to disk
	Count                 // how many there are
)

// String prints the space's name.
func (s Space) String() string {
	switch s {
	case Volatile:
		return "volatile"
	case Durable:
		return "durable"
	}
	return fmt.Sprintf("space(%d)", uint8(s))
}
