package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
)

// door is one owner's lock of one name.
type door struct {
	s           *Store
	key, record string
	owner       string
	turn        chan struct{} // taken by the call that talks to etcd
	open        context.Context
	end         context.CancelFunc // of open
	keeping     sync.WaitGroup     // renewals of holds

	mu       sync.Mutex
	hold     *hold    // nil = not held
	trying   *attempt // nil = none that may become the hold
	rest     rest
	releases int // calls of Release
	closed   bool
}

// rest is what a former hold, or a failed attempt at one, may have left in etcd.
type rest struct {
	lease clientv3.LeaseID // 0 = nothing
	fence int64            // of the key; 0 = the transaction that makes it has not answered
}

var (
	_ locks.Lock   = (*door)(nil)
	_ locks.Holder = (*door)(nil)
)

// enter waits for the turn of a call. It returns the call's context, and what ends the call.
func (d *door) enter(ctx context.Context) (context.Context, func(), error) {
	if d.isClosed() {
		return nil, nil, d.refuse(locks.ErrClosed)
	}
	return d.await(ctx, d.open)
}

// await is enter for a door that may be closed. The context that it returns ends with the other one,
// too.
func (d *door) await(ctx, other context.Context) (context.Context, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, d.refuse(ctx.Err())
	}
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), d.s.timeout)
	forget, stay := context.AfterFunc(other, cancel), context.AfterFunc(d.s.client.Ctx(), cancel)
	leave := func() { forget(); stay(); cancel() }
	select {
	case d.turn <- struct{}{}:
		return ctx, func() { leave(); <-d.turn }, nil
	case <-ctx.Done():
		leave()
		if d.isClosed() && other == d.open {
			return nil, nil, d.refuse(locks.ErrClosed)
		}
		return nil, nil, d.refuse(ctx.Err())
	}
}

func (d *door) refuse(err error) error { return fmt.Errorf("lease %s: %w", d.key, err) }

func (d *door) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// countReleases adds calls of Release to their number, and returns it.
func (d *door) countReleases(more int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releases += more
	return d.releases
}

// Release implements locks.Lock. It ends the calls that are under way, and those of Acquire that wait.
// After an error the lease may last to its end in etcd.
func (d *door) Release(ctx context.Context) error {
	d.countReleases(1)
	d.drop()
	ctx, done, err := d.await(ctx, context.Background())
	if err != nil {
		return err
	}
	defer done()
	d.drop() // another call may have acquired
	return d.settle(ctx)
}

// drop ends the hold on this side, and gives up the attempt that is under way.
func (d *door) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropLocked()
}

func (d *door) dropLocked() {
	if h := d.hold; h != nil {
		h.cancel()
		d.hold, d.rest = nil, rest{h.lease, h.fence}
	}
	if a := d.trying; a != nil {
		a.end()
		d.trying = nil
	}
}

// leave notes what is left in etcd.
func (d *door) leave(r rest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = r
}

// settle removes what is left in etcd. The caller has the turn. A transaction that makes the key,
// and comes after the lease was revoked, fails.
func (d *door) settle(ctx context.Context) error {
	d.mu.Lock()
	r := d.rest
	d.mu.Unlock()
	if r.lease == 0 {
		return nil
	}
	if r.fence != 0 {
		_, err := d.s.client.Txn(ctx).If(d.holds(r)...).Then(clientv3.OpDelete(d.key)).Commit()
		if err != nil {
			return d.s.explain(ctx, d.key, err)
		}
	}
	_, err := d.s.client.Revoke(ctx, r.lease)
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) && r.fence == 0 {
		return d.s.explain(ctx, d.key, err)
	}
	d.leave(rest{}) // a lease that could not be revoked holds no key, and expires
	return nil
}

// holds is the condition of everything that only the holder may do. A key that something else has
// written over does not have the lease.
func (d *door) holds(r rest) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(d.key), "=", r.fence),
		clientv3.Compare(clientv3.LeaseValue(d.key), "=", r.lease),
	}
}

// Until implements locks.Lock.
func (d *door) Until() time.Time {
	h := d.held()
	if h == nil {
		return time.Time{}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return h.until
}

// Close implements locks.Lock. It waits for etcd no longer than the store's Timeout. If etcd does not
// answer, another call tries again.
func (d *door) Close() error {
	d.mu.Lock()
	d.closed = true
	d.dropLocked()
	d.mu.Unlock()
	d.end()
	d.keeping.Wait()
	return d.Release(context.Background())
}

// Holder implements locks.Holder. It names the present holder.
func (d *door) Holder(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, d.s.timeout)
	defer cancel()
	got, err := d.s.client.Get(ctx, d.key)
	if err != nil || len(got.Kvs) == 0 {
		return ""
	}
	owner, _ := decodeHolder(got.Kvs[0].Value)
	return owner
}
