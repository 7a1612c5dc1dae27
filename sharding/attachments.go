package sharding

import (
	"sync"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership"
)

// attachments are what protocols that stand on entities have attached to a region.
type attachments struct {
	drops  *drops
	panics *panics

	boxes   sync.Map // by name: func(membership.UID, []byte)
	movers  sync.Map // of OnMove: func(int)
	reports sync.Map // of OnReport: func(func(*events.Metric, float64, ...string))
	kept    sync.Map // of Attach: what once made, by key
}

// moved tells of a shard whose messages under way may be gone.
func (a *attachments) moved(number uint32) {
	a.movers.Range(func(_, fn any) bool {
		fn.(func(int))(int(number))
		return true
	})
}

// posted hands bytes to a box of this node.
func (a *attachments) posted(from membership.UID, box string, body []byte) {
	fn, ok := a.boxes.Load(box)
	if !ok {
		a.drops.drop(DropNoBox, -1, "", nil)
		return
	}
	defer a.panics.survive("a box")
	fn.(func(membership.UID, []byte))(from, body)
}

func (r *core) receivePost(from uint64, rd *cbor.Reader) {
	box, body := rd.RawText(cbor.Any), rd.Bytes(cbor.Any)
	if rd.Err() != nil {
		r.malformed(from)
		return
	}
	r.attached.posted(membership.UID(from), string(box), body)
}
