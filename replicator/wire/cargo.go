package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
)

// ClockBytes is about how many bytes a message with clocks takes; 0 of one that has a bound of its
// own.
func ClockBytes(msg Message) int {
	switch msg := msg.(type) {
	case *Clock:
		return sizeOf(msg.Content, msg.Acked)
	case *Fetch:
		return sizeOf(msg.Dots)
	case *Answer:
		return sizeOf(msg.Extra)
	case *Compare:
		size := sizeOf(msg.More)
		for _, k := range msg.Keys {
			size += len(k) + 3
		}
		return size
	case *Compared:
		return sizeOf(msg.Extra, msg.Lacks)
	case *Report:
		size := sizeOf(msg.Acked)
		for _, past := range msg.Known {
			size += 9 * (3 + len(past.Voters) + len(past.Disks))
		}
		return size
	case *Pull:
		return sizeOf(msg.Content)
	case *Head:
		return sizeOf(msg.Clock)
	}
	return 0
}

// sizeOf is the number of bytes of some clocks, nil for none.
func sizeOf(clocks ...*crdt.Clock) (size int) {
	for _, c := range clocks {
		if c != nil {
			size += c.Size()
		}
	}
	return size
}

// CargoOf says what a message that is larger than a frame is as a cargo.
func CargoOf(msg Message) push.Cargo {
	switch msg := msg.(type) {
	case *Clock:
		return push.Cargo{Kind: kindClock, Space: uint8(msg.Space), State: true}
	case *Fetch:
		hash := msg.Dots.Hash()
		return push.Cargo{Kind: kindFetch, Space: uint8(msg.Space), About: binary.BigEndian.Uint64(hash[:])}
	case *Answer:
		return push.Cargo{Kind: kindAnswer, Space: uint8(msg.Space), About: msg.ID}
	case *Compare:
		return push.Cargo{Kind: kindCompare, Space: uint8(msg.Space), About: msg.ID}
	case *Compared:
		return push.Cargo{Kind: kindCompared, Space: uint8(msg.Space), About: msg.ID}
	case *Report:
		return push.Cargo{Kind: kindReport, Space: uint8(msg.Space), State: true}
	case *Pull:
		return push.Cargo{Kind: kindPull, Space: uint8(msg.Space), Session: msg.Session}
	case *Head:
		return push.Cargo{Kind: kindHead, Space: uint8(msg.Space), Session: msg.Session}
	case *Items:
		return push.Cargo{Kind: kindItems, Space: uint8(msg.Space), Session: msg.Session, About: uint64(msg.ID)}
	case *Push:
		return push.GroupCargo(kindPush, uint8(msg.Space), msg.Groups[0])
	}
	panic(fmt.Sprintf("replicator: message %T never goes in parts", msg))
}
