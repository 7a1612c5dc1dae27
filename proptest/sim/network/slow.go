package network

import (
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// SlowLink delays on one way, or on all ways to one slot, what the network otherwise brings soon.
type SlowLink struct {
	From, To int   // slots; from -1: any
	Views    int64 // for views that were committed
	Grants   int64 // for answers to heartbeats
	Shards   int64 // for what machines of sharding say on the control lane
	Data     int64 // for the FIFO lanes
}

// The second byte of a message tells its kind: one that brings a view which was committed, and one
// that answers a heartbeat.
var (
	commitKind = message.Append(nil, message.Commit{View: &view.View{}})[1]
	grantKind  = message.Append(nil, message.Grant{})[1]
)

// lagging sums the delays that meet a packet from slot a to slot b.
func (n *Network) lagging(a, b int, pk *Packet) (d int64) {
	for _, l := range n.slow {
		switch {
		case a == b || l.To != b || l.From >= 0 && l.From != a:
		case pk.lane != Control:
			d += l.Data
		case pk.To == ToMember && len(pk.Payload) > 1 && pk.Payload[1] == commitKind:
			d += l.Views
		case pk.To == ToMember && len(pk.Payload) > 1 && pk.Payload[1] == grantKind:
			d += l.Grants
		case pk.To == ToShard:
			d += l.Shards
		}
	}
	return d
}

// SlowBy replaces the slow links.
func (n *Network) SlowBy(links []SlowLink) { n.slow = links }
