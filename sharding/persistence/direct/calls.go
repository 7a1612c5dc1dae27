package direct

import (
	"context"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Append appends a write to the history of its entity.
func (k *Client) Append(h persistence.Hosting, w persistence.Write, done func(error)) {
	k.run(k.journal(h, true, func(ctx context.Context) error {
		return first(k.cfg.Journal.Append(ctx, h, []persistence.Write{w}))
	}), done)
}

// Load calls each for the events of a read. It makes one attempt.
func (k *Client) Load(h persistence.Hosting, r persistence.Read, each func(persistence.Event) error,
	done func(persistence.End, error)) {
	var end persistence.End
	k.run(k.journal(h, false, func(ctx context.Context) error {
		ends, err := k.cfg.Journal.Load(ctx, h, []persistence.Read{r},
			func(_ int, e persistence.Event) error { return each(e) })
		if err == nil {
			end = ends[0]
		}
		return err
	}), func(err error) { done(end, err) })
}

// Delete forgets the events of an entity up to a number.
func (k *Client) Delete(h persistence.Hosting, id protocol.EntityID, upTo uint64, done func(error)) {
	k.run(k.journal(h, true, func(ctx context.Context) error { return k.cfg.Journal.Delete(ctx, h, id, upTo) }), done)
}

// SaveSnapshot stores a snapshot.
func (k *Client) SaveSnapshot(h persistence.Hosting, s persistence.Snapshot, done func(error)) {
	k.run(k.snapshots(h, true, func(ctx context.Context) error {
		return first(k.cfg.Snapshots.SaveSnapshots(ctx, h, []persistence.Snapshot{s}))
	}), done)
}

// LoadSnapshot calls each for the snapshot of a read, if there is one. It makes one attempt.
func (k *Client) LoadSnapshot(h persistence.Hosting, r persistence.SnapshotRead,
	each func(persistence.Snapshot) error, done func(error)) {
	k.run(k.snapshots(h, false, func(ctx context.Context) error {
		return k.cfg.Snapshots.LoadSnapshots(ctx, h, []persistence.SnapshotRead{r},
			func(_ int, s persistence.Snapshot) error { return each(s) })
	}), done)
}

// DeleteSnapshots forgets the snapshots of an entity up to a number.
func (k *Client) DeleteSnapshots(h persistence.Hosting, id protocol.EntityID, upTo uint64, done func(error)) {
	k.run(k.snapshots(h, true, func(ctx context.Context) error {
		return k.cfg.Snapshots.DeleteSnapshots(ctx, h, id, upTo)
	}), done)
}

// SaveState replaces the value of an entity.
func (k *Client) SaveState(h persistence.Hosting, w persistence.StateWrite, done func(error)) {
	k.run(k.states(h, true, func(ctx context.Context) error {
		return first(k.cfg.States.SaveStates(ctx, h, []persistence.StateWrite{w}))
	}), done)
}

// LoadState calls each for the value of an entity, if it ever had one. It makes one attempt.
func (k *Client) LoadState(h persistence.Hosting, id protocol.EntityID, each func(persistence.State) error,
	done func(error)) {
	k.run(k.states(h, false, func(ctx context.Context) error {
		return k.cfg.States.LoadStates(ctx, h, []protocol.EntityID{id},
			func(_ int, s persistence.State) error { return each(s) })
	}), done)
}

func (k *Client) journal(h persistence.Hosting, writes bool, do func(context.Context) error) request {
	return request{h, k.cfg.Journal, journal, writes, do}
}

func (k *Client) snapshots(h persistence.Hosting, writes bool, do func(context.Context) error) request {
	return request{h, k.cfg.Snapshots, snapshots, writes, do}
}

func (k *Client) states(h persistence.Hosting, writes bool, do func(context.Context) error) request {
	return request{h, k.cfg.States, states, writes, do}
}

// first is why a call about one element had no effect, or failed.
func first(refused []persistence.Refusal, err error) error {
	if err == nil && len(refused) > 0 {
		return refused[0].Err
	}
	return err
}
