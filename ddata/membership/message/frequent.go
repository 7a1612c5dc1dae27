package message

import (
	"math"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Heartbeats and grants are nearly all that the machines say. They are encoded and decoded field by
// field, which takes a fraction of what reflection does. The bytes are those of cbor.Records.

const (
	heartbeatFields = 10
	grantFields     = 7
	smallBytes      = 64 // of a heartbeat without lists at most
)

func (h Heartbeat) append(dst []byte) []byte {
	dst = cbor.AppendArray(dst, heartbeatFields)
	dst = cbor.AppendUints(dst, uint64(h.Cluster), uint64(h.Epoch), h.Tag)
	dst = cbor.AppendInt(cbor.AppendInt(dst, h.Mono), h.Wall)
	dst = cbor.AppendUints(dst, uint64(h.Flags), uint64(h.Settled), uint64(h.Moved))
	return cbor.AppendList(view.AppendIDs(dst, h.Downs), h.Offers, view.AppendService)
}

func decodeHeartbeat(b []byte) (Message, error) {
	r := cbor.NewReader(b)
	r.Tuple(heartbeatFields)
	h := Heartbeat{
		Cluster: view.ClusterID(r.Uint()), Epoch: view.Epoch(r.Uint()), Tag: r.Uint(), Mono: r.Int(), Wall: r.Int(),
		Flags: report.Flags(r.UintMax(math.MaxUint8)), Settled: view.Epoch(r.Uint()),
		Moved: uint16(r.UintMax(math.MaxUint16)),
		Downs: view.ReadIDs[view.UID](r, DownsMax), Offers: view.ReadServices(r),
	}
	return checked(h, r.End())
}

func (g Grant) append(dst []byte) []byte {
	dst = cbor.AppendArray(dst, grantFields)
	dst = cbor.AppendUints(dst, uint64(g.Cluster), uint64(g.Epoch))
	dst = cbor.AppendInt(cbor.AppendInt(dst, g.Mono), g.Wall)
	return cbor.AppendBools(dst, g.Granted, g.Arbiter, g.Closes)
}

func decodeGrant(b []byte) (Message, error) {
	r := cbor.NewReader(b)
	r.Tuple(grantFields)
	g := Grant{
		Cluster: view.ClusterID(r.Uint()), Epoch: view.Epoch(r.Uint()), Mono: r.Int(), Wall: r.Int(),
		Granted: r.Bool(), Arbiter: r.Bool(), Closes: r.Bool(),
	}
	return checked(g, r.End())
}
