package sharding

import (
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// inquired has a peer ask about the type of a channel, and returns whether it was answered.
func inquired(a *absences, peer *ddata.Node, ch transport.Channel, floor protocol.Token) bool {
	t, ok := a.of(ch).(*absence)
	if !ok {
		return false
	}
	answer, _ := t.answer(transport.NodeID(peer.UID()), protocol.Inquire{Floor: floor})
	return answer != nil
}

// A peer that asks about types without end uses up its own share and no more: the questions of
// others are answered, and what was promised to them is kept. Questions that promise nothing, and
// those of strangers, leave nothing behind.
func TestPeersHaveSharesOfAbsentTypes(t *testing.T) {
	nodes := byAge(t, 3)
	a := &typesOf(nodes[0]).absences
	low, high := protocol.Token{Epoch: 1, Up: 1, Seq: 1}, protocol.Token{Epoch: 1, Up: 1, Seq: 2}
	for i := range 2 * absentMax {
		if got := inquired(a, nodes[1], transport.Channel(i+1), low); got != (i < absentMax) {
			t.Fatalf("question %d is answered: %t", i, got)
		}
		stranger, _ := a.of(transport.Channel(1 << 40)).(*absence)
		if answer, _ := stranger.answer(transport.NodeID(i+1), protocol.Inquire{Floor: low}); answer != nil {
			t.Fatalf("a stranger is promised something: %v", answer)
		}
		if answer, _ := stranger.answer(transport.NodeID(nodes[1].UID()), protocol.Register{}); answer == nil {
			t.Fatal("a question that asks for no promise is not answered")
		}
	}
	if !inquired(a, nodes[2], channelOf("Cart"), high) || inquired(a, nodes[2], channelOf("Cart"), low) {
		t.Error("another peer gets no promise, or it is not kept")
	}
	if !inquired(a, nodes[1], channelOf("Cart"), high) {
		t.Error("a question about what is kept already needs a place")
	}
	typ := cartType(&cartLog{})
	if past, err := a.start(typ.Name); err != nil || past.Floor != high || a.kept[transport.NodeID(nodes[2].UID())] != 0 {
		t.Errorf("%v, %v; kept %v", past, err, a.kept)
	}
}

// When all places are taken, what was promised to nodes that are gone makes room.
func TestGoneNodesLeaveRoomForAbsentTypes(t *testing.T) {
	nodes := byAge(t, 2)
	a := &typesOf(nodes[0]).absences
	a.mu.Lock()
	for i := range absentTotalMax {
		gone, ch := transport.NodeID(i%100+1), transport.Channel(i+1)
		if !a.keepLocked(&absence{of: a, channel: ch}, gone, &membership.View{Members: []membership.Member{{UID: membership.UID(gone)}}}) {
			t.Fatalf("no place for the %dth", i)
		}
	}
	a.mu.Unlock()
	if !inquired(a, nodes[1], channelOf("Cart"), protocol.Token{Epoch: 1, Up: 1, Seq: 1}) || len(a.types) != 1 || len(a.kept) != 1 {
		t.Errorf("%d types are kept for %d peers", len(a.types), len(a.kept))
	}
}
