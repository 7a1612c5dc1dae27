package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// ExternalClient says at which node each shard of an entity type shall live. The type's Strategy
// must be allocation.External; shards move to where they are wanted with the next look at the
// balance. All clients of a type write to the same map, the last writer wins per shard. It is
// volatile: after a restart of the whole cluster it is empty.
type ExternalClient struct {
	state  host.Data
	typ    string
	shards int
}

// ClientTimeout bounds a call of an ExternalClient whose context has no deadline.
const ClientTimeout = 5 * time.Second

// locationsBatch is how many locations are written at once.
const locationsBatch = 1024

// External is the client of the region's type. It needs a node with the type's role, and a Strategy
// that looks at locations: allocation.External, or one of one's own that says so by
// allocation.Needy.
//
// Errors: ErrUnknownRole, ErrConfig.
func (g *Region[M]) External() (*ExternalClient, error) { return g.run.external() }

func (run *engine) external() (*ExternalClient, error) {
	c := run.control
	if c.State.Data == nil {
		return nil, fmt.Errorf("%w: where shards shall live is said on a node with role %q", ErrUnknownRole, c.Cfg.Role)
	}
	if !run.movable() {
		return nil, fmt.Errorf("%w %q: its Strategy looks at no locations: use allocation.External", ErrConfig,
			c.Cfg.Name)
	}
	return &ExternalClient{state: c.State.Data, typ: c.Cfg.Name, shards: c.Cfg.Shards}, nil
}

// movable reports whether the type's strategy heeds where an outside client wants a shard.
func (run *engine) movable() bool {
	needy, ok := run.control.Cfg.Allocation.Strategy.(allocation.Needy)
	return ok && needy.Needs().Locations
}

// SetShardLocations says where shards shall live, by the address of the node as Member.Addr has it;
// an empty one takes back what was said of the shard. An address at which no region is counts when
// one comes there. When it returns nil a majority knows. After an error some of it may be known.
func (c *ExternalClient) SetShardLocations(ctx context.Context, at map[ShardID]string) error {
	shards := make([]ShardID, 0, len(at))
	for s := range at { // order: sorted below
		if s >= ShardID(c.shards) {
			return fmt.Errorf("%w %q: shard %d of %d", ErrConfig, c.typ, s, c.shards)
		}
		shards = append(shards, s)
	}
	slices.Sort(shards)
	for part := range slices.Chunk(shards, locationsBatch) {
		if err := c.set(ctx, part, at); err != nil {
			return fmt.Errorf("sharding %q: locations of shards: %w", c.typ, err)
		}
	}
	return nil
}

func (c *ExternalClient) set(ctx context.Context, shards []ShardID, at map[ShardID]string) error {
	done := make(chan error, 1)
	ctx, timeout, cancel := bounded(ctx)
	defer cancel()
	c.state.Update(c.key(), quorum.Majority, timeout, func(tx *crdt.Tx) error {
		m := protocol.LocationsMap{}.Mutator(tx)
		for _, s := range shards {
			put := m.Put
			if at[s] == "" {
				put = func(s ShardID, _ string) error { return m.Remove(s) }
			}
			if err := put(s, at[s]); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) { done <- err })
	select { // scheduler: a client of a node, which no region uses
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SetShardLocation is SetShardLocations of one shard, for a member of the view.
func (c *ExternalClient) SetShardLocation(ctx context.Context, shard ShardID, node view.Member) error {
	return c.SetShardLocations(ctx, map[ShardID]string{shard: node.Addr})
}

// ShardLocations is what a majority knows of where shards shall live.
func (c *ExternalClient) ShardLocations(ctx context.Context) (map[ShardID]string, error) {
	type answer struct {
		v   crdt.Reader
		err error
	}
	done := make(chan answer, 1)
	ctx, timeout, cancel := bounded(ctx)
	defer cancel()
	c.state.Get(c.key(), quorum.Majority, timeout, func(v crdt.Reader, err error) { done <- answer{v, err} })
	var a answer
	select { // scheduler: a client of a node, which no region uses
	case a = <-done:
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	out := map[ShardID]string{}
	m, err := protocol.LocationsMap{}.View(a.v)
	if err = errors.Join(a.err, err); err != nil {
		return nil, fmt.Errorf("sharding %q: locations of shards: %w", c.typ, err)
	}
	for s, addr := range m.All() {
		out[s] = addr
	}
	return out, nil
}

func (c *ExternalClient) key() string { return protocol.StateKey(c.typ, protocol.StateLocations, 0) }

// bounded gives a context a deadline, and says how far off it is.
func bounded(ctx context.Context) (context.Context, time.Duration, context.CancelFunc) {
	if at, ok := ctx.Deadline(); ok {
		// scheduler: as above
		return ctx, max(time.Millisecond, time.Until(at)), func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, ClientTimeout) // scheduler: as above
	return ctx, ClientTimeout, cancel
}
