package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

var (
	// ErrNothing: the source remembers nothing. The usual cause is that it was the target before, and
	// was removed, or that the type or the role is misspelt.
	ErrNothing = errors.New("transfer: nothing is remembered in the source")
	// ErrOthers: the target has ids that the source has not. The usual causes are a copy in the wrong
	// direction, and what an earlier move has left. Options.Replace takes them out.
	ErrOthers = errors.New("transfer: the target has ids that the source has not")
	// ErrDiffers: after the copy the target does not have what the source has. The usual cause is a
	// node that runs.
	ErrDiffers = errors.New("transfer: source and target differ after the copy")
)

// Options are those of Copy.
type Options struct {
	// Replace takes ids out of the target that the source has not. Default: they are ErrOthers.
	Replace bool
	// DryRun counts, and changes nothing in the target. Default: it is changed.
	DryRun bool
}

// Counts says what Copy has found and done.
type Counts struct {
	Shards int // of the source, that have ids
	IDs    int // of the source
	Before int // ids of the target, before
	Added  int // to the target, or to be added
	Others int // ids of the target that the source has not; they were taken out, or are to be
}

func (c Counts) String() string {
	return fmt.Sprintf("shards=%d ids=%d before=%d added=%d others=%d", c.Shards, c.IDs, c.Before, c.Added, c.Others)
}

// writeMax is how many ids a call takes.
const writeMax = 4096

// Copy makes the target have the ids of the source. No node may run the type. Nothing is changed if
// it fails with ErrNothing or ErrOthers. After any other error it may be repeated.
func Copy(ctx context.Context, from, to remember.Store, o Options) (c Counts, err error) {
	source, err := read(ctx, from)
	if err != nil {
		return c, fmt.Errorf("transfer: source: %w", err)
	}
	target, err := read(ctx, to)
	if err != nil {
		return c, fmt.Errorf("transfer: target: %w", err)
	}
	todo := differences(source, target)
	c.Shards, c.IDs, c.Before = source.shards(), source.len(), target.len()
	for _, d := range todo {
		c.Added += len(d.add)
		c.Others += len(d.remove)
	}
	switch {
	case c.IDs == 0:
		return c, ErrNothing
	case c.Others > 0 && !o.Replace && !o.DryRun:
		return c, fmt.Errorf("%w: %d of %d", ErrOthers, c.Others, c.Before)
	case o.DryRun:
		return c, nil
	}
	if err := carry(ctx, to, todo); err != nil {
		return c, fmt.Errorf("transfer: target: %w", err)
	}
	return c, verify(ctx, from, to)
}

// carry makes the changes. A shard is on the list before it has ids, as nodes keep it.
func carry(ctx context.Context, to remember.Store, todo []difference) error {
	for _, d := range todo {
		if len(d.add) > 0 {
			if err := to.List(ctx, noHosting, []protocol.ShardID{d.shard}, nil); err != nil {
				return err
			}
		}
		for ids := range slices.Chunk(d.add, writeMax) {
			if err := to.Update(ctx, noHosting, d.shard, ids, nil); err != nil {
				return err
			}
		}
		for ids := range slices.Chunk(d.remove, writeMax) {
			if err := to.Update(ctx, noHosting, d.shard, nil, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

func verify(ctx context.Context, from, to remember.Store) error {
	source, err := read(ctx, from)
	if err != nil {
		return fmt.Errorf("transfer: source: %w", err)
	}
	target, err := read(ctx, to)
	if err != nil {
		return fmt.Errorf("transfer: target: %w", err)
	}
	if left := differences(source, target); len(left) > 0 {
		return fmt.Errorf("%w: %d and %d ids, in %d shards", ErrDiffers, source.len(), target.len(), len(left))
	}
	return nil
}
