package sim

import (
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// stores reports whether what a replica acknowledges of a set alone has to last as long as the set.
// It need not while its view does not have the key as durable: it was left behind, and others have
// a view that does.
func (r *replicaHost) stores(b *history.Set) bool {
	return !b.Durable || r.m.SpaceOf(b.Key) == keyspace.Durable
}
