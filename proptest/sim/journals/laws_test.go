package journals_test

import (
	"context"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/persistencetest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Without faults the store keeps the laws of the port.
func TestLaws(t *testing.T) {
	persistencetest.Run(t, func(testing.TB) *persistencetest.Opened {
		w, s, a := open(journals.Faults{}, journals.Defects{})
		mu := &sync.Mutex{}
		return &persistencetest.Opened{
			A: persistencetest.DoorOf(turns{mu, a}),
			B: persistencetest.DoorOf(turns{mu, s.Of(&holder{w: w, uid: 2})}),
		}
	})
}

// turns has one call at a time made: a world has one flow of control, and laws have several.
type turns struct {
	mu *sync.Mutex
	d  *journals.Door
}

func (x turns) Fence(ctx context.Context, h persistence.Hosting) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.Fence(ctx, h)
}

func (x turns) Append(ctx context.Context, h persistence.Hosting, writes []persistence.Write,
) ([]persistence.Refusal, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.Append(ctx, h, writes)
}

func (x turns) Load(ctx context.Context, h persistence.Hosting, reads []persistence.Read,
	each func(int, persistence.Event) error) ([]persistence.End, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.Load(ctx, h, reads, each)
}

func (x turns) Delete(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.Delete(ctx, h, id, upTo)
}

func (x turns) SaveSnapshots(ctx context.Context, h persistence.Hosting, all []persistence.Snapshot,
) ([]persistence.Refusal, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.SaveSnapshots(ctx, h, all)
}

func (x turns) LoadSnapshots(ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(int, persistence.Snapshot) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.LoadSnapshots(ctx, h, reads, each)
}

func (x turns) DeleteSnapshots(ctx context.Context, h persistence.Hosting, id protocol.EntityID, upTo uint64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.DeleteSnapshots(ctx, h, id, upTo)
}

func (x turns) SaveStates(ctx context.Context, h persistence.Hosting, writes []persistence.StateWrite,
) ([]persistence.Refusal, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.SaveStates(ctx, h, writes)
}

func (x turns) LoadStates(ctx context.Context, h persistence.Hosting, ids []protocol.EntityID,
	each func(int, persistence.State) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.d.LoadStates(ctx, h, ids, each)
}
