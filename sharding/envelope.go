package sharding

import (
	"context"

	"github.com/coterie-go/coterie/sharding/dataplane"
)

// Envelope is a message with the id of its entity, for callers that keep both in one value and tell
// it by an Extractor. It cannot be asked, and to try does not compile: an Envelope does not say the
// type of the reply. Ask Region.Ref of its ID with the question itself.
type Envelope[M any] struct {
	ID      string
	Message M
}

// Open is the extractor of envelopes.
func Open[M any](e Envelope[M]) (id string, msg M, err error) { return e.ID, e.Message, nil }

// Extractor takes values that name their entity themselves: Tell sends them, and Ask takes an
// Extractor as the Recipient of requests of an E.
type Extractor[E, M any] struct {
	region  *Region[M]
	extract func(E) (id string, msg M, err error)
}

// NewExtractor makes an Extractor: extract reads from a value the id of its entity, and the
// message, which may be the value itself, or says why it has none. It must depend on nothing but
// the value, and is called by many goroutines at a time, once for each Tell and Ask; nothing of it is kept.
// Which shard an id belongs to is EntityType.ShardOf's.
func NewExtractor[E, M any](region *Region[M], extract func(E) (id string, msg M, err error)) Extractor[E, M] {
	return Extractor[E, M]{region, extract}
}

// Tell is Region.Tell of what the value is for. An error of the extractor is returned as it is, and
// nothing is sent.
func (n Extractor[E, M]) Tell(ctx context.Context, value E) error {
	id, msg, err := n.extract(value)
	if err != nil {
		return err
	}
	return n.region.Tell(ctx, id, msg)
}

var _ Recipient[string] = Extractor[string, int]{}

// recipient implements Recipient. A question that is itself the message is asked so; one within an
// Envelope is asked by Region.Ref of its ID.
func (n Extractor[E, M]) recipient(req E) (*dataplane.Plane, *dataplane.Address, any, error) {
	id, msg, err := n.extract(req)
	if err != nil {
		return nil, nil, nil, err
	}
	ref := n.region.Ref(id)
	return ref.region.plane, &ref.to, msg, nil
}
