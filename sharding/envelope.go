package sharding

import "context"

// Envelope is a message with the id of its entity, for callers that keep both in one value.
type Envelope[M any] struct {
	ID      string
	Message M
}

// Open is the extractor of envelopes.
func Open[M any](e Envelope[M]) (id string, msg M, err error) { return e.ID, e.Message, nil }

// Extractor takes values that name their entity themselves.
type Extractor[E, M any] struct {
	region  *Region[M]
	extract func(E) (id string, msg M, err error)
}

// NewExtractor makes an Extractor: extract reads from a value the id of its entity, and the
// message, which may be the value itself, or says why it has none. It must depend on nothing but
// the value, and is called by many goroutines at a time, once for each Tell; nothing of it is kept.
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
