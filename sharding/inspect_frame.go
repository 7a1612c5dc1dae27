package sharding

import "github.com/coterie-go/coterie/crdt/cbor"

// inspection says what is asked of a region.
type inspection uint8

// What can be asked, each with more of an answer than the one before, except the last.
const (
	inspectTotals inspection = iota + 1
	inspectCounts            // and those of each shard
	inspectIDs               // and the ids of active entities
	inspectEntity            // one shard, and whether one entity of it is active
	inspectEnd
)

// wireState is the answer of a region.
type wireState struct {
	_                      struct{} `cbor:",toarray"`
	Proxy, Registered, Cut bool
	Entities, Active       uint32
	Shards                 []wireShard
}

// wireShard is what wireState has of one shard.
type wireShard struct {
	_                       struct{} `cbor:",toarray"`
	Number, Entities, Alive uint32
	IDs                     []string
}

// appendInspect appends a question to a region.
func appendInspect(dst []byte, call uint64, what inspection, id string) []byte {
	return cbor.AppendText(cbor.AppendUint(cbor.AppendUint(beginFrame(dst, frameInspect, 4), call), what), id)
}
