package codec

import "github.com/coterie-go/coterie/crdt/cbor"

// Inspection says what is asked of a region.
type Inspection uint8

// What can be asked, each with more of an answer than the one before, except the last.
const (
	InspectTotals Inspection = iota + 1
	InspectCounts            // and those of each shard
	InspectIDs               // and the ids of active entities
	InspectEntity            // one shard, and whether one entity of it is active
	InspectEnd
)

// State is the answer of a region.
type State struct {
	_                      struct{} `cbor:",toarray"`
	Proxy, Registered, Cut bool
	Entities, Active       uint32
	Shards                 []StateShard
}

// StateShard is what State has of one shard.
type StateShard struct {
	_                       struct{} `cbor:",toarray"`
	Number, Entities, Alive uint32
	IDs                     []string
}

// AppendInspect appends a question to a region.
func AppendInspect(dst []byte, call uint64, what Inspection, id string) []byte {
	return cbor.AppendText(cbor.AppendUint(cbor.AppendUint(beginFrame(dst, Inspect, 4), call), what), id)
}
