package ddata_test

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// counted takes numbered messages, and those that were lost.
type counted struct {
	mu      sync.Mutex
	came    []uint64
	unsent  []uint64 // lost, and never sent
	unknown int      // lost, and may have come
	some    chan struct{}
}

func (c *counted) Receive(_ transport.NodeID, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.came = append(c.came, binary.BigEndian.Uint64(payload)); len(c.came) == 1000 {
		close(c.some)
	}
}

func (c *counted) Lost(_ transport.NodeID, payload []byte, sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sent {
		c.unknown++
		return
	}
	c.unsent = append(c.unsent, binary.BigEndian.Uint64(payload))
}

// A node that leaves under load answers for what it has taken: the others know of each message in
// the Data lane whether it came.
func TestLeaverSaysWhatItHasTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		nodes := mem.start(3, nil)
		leaver, sender := nodes[0], nodes[1]
		ch := transport.ChannelOf("counted")
		here, there := &counted{}, &counted{some: make(chan struct{})}
		sender.Host().Channels.Handle(ch, here)
		leaver.Host().Channels.Handle(ch, there)
		sent := make(chan uint64, 1)
		go func() {
			n := uint64(0)
			tick := time.NewTicker(100 * time.Microsecond) // so slow that receipts are late
			defer tick.Stop()
			for err := error(nil); err == nil; n++ { // until the leaver is no member any more
				fill := func(dst []byte) []byte { return binary.BigEndian.AppendUint64(dst, n+1) }
				to := transport.NodeID(leaver.UID())
				err = sender.Host().Channels.AppendWait(testContext(t), to, transport.Data, 0, ch, fill, nil)
				<-tick.C
			}
			sent <- n - 1
		}()
		<-there.some
		if err := leaver.Leave(within(t, 20*time.Second)); err != nil {
			t.Fatal(err)
		}
		n := <-sent
		mustClose(t, sender) // what is under way to nodes that are gone is lost now
		here.mu.Lock()
		defer here.mu.Unlock()
		all := slices.Concat(there.came, here.unsent)
		for i, x := range all {
			if x != uint64(i+1) {
				t.Fatalf("message %d is missing", i+1)
			}
		}
		if here.unknown > 0 || uint64(len(all)) != n {
			t.Errorf("%d of %d messages came, %d did not, and of %d nothing is known",
				len(there.came), n, len(here.unsent), here.unknown)
		}
	})
}
