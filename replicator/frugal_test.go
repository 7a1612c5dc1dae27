package replicator

import (
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/wire/wiretest"
)

// Hazard 13: broken or hostile bytes cost no more than their own size.
func TestDecodingIsFrugal(t *testing.T) {
	var seeds [][]byte
	for _, m := range wiretest.Samples() {
		seeds = append(seeds, wire.Append(nil, m))
	}
	proptest.Frugal(t, 100, func(b []byte) { _, _ = wire.Decode(b) }, seeds...)
}

// Idle gossip costs at most 100 bytes per exchange for both spaces, whatever they hold: nothing but
// one message is sent.
func TestIdleGossipIsSmall(t *testing.T) {
	w := newWorld(t, 1, durableD)
	const late = 1 << 31 // an epoch that no cluster reaches
	for id := crdt.Origin(1); id <= 3; id++ {
		w.start(id<<60, nil, uint64(id))
	}
	w.install(founded(late, 1<<60, 2<<60, 3<<60))
	for i := range 120 {
		w.nodes[i%3].put(fmt.Sprintf("key%d", i), "x", quorum.Local)
		w.nodes[i%3].put(fmt.Sprintf("d/key%d", i), "x", quorum.Local)
	}
	w.advance(time.Minute)
	var bytes, exchanges, messages int
	w.drop = func(p packet) bool {
		bytes += len(wire.Append(nil, p.msg))
		messages++
		if _, ok := p.msg.(*wire.Holdings); ok {
			exchanges++
		}
		return false
	}
	w.advance(10 * time.Minute)
	if exchanges < 3*590 || messages != exchanges || bytes > 100*exchanges {
		t.Fatalf("%d bytes in %d messages, %d exchanges", bytes, messages, exchanges)
	}
	t.Logf("%.1f bytes per exchange", float64(bytes)/float64(exchanges))
}
