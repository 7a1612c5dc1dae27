package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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

	mu     sync.Mutex
	hold   *hold // nil = not held
	rest   rest
	closed bool
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

// Acquire implements locks.Lock.
func (d *door) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	ctx, done, err := d.enter(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if d.held() != nil {
		return true, nil
	}
	if err := d.settle(ctx); err != nil {
		return false, err
	}
	taken, err := d.taken(ctx)
	if taken || err != nil {
		return false, err
	}
	sent := time.Now()
	grant, err := d.s.client.Grant(ctx, int64(d.s.ttl/time.Second))
	if err != nil {
		return false, d.s.explain(ctx, d.key, err)
	}
	d.leave(rest{lease: grant.ID})
	fence, err := d.make(ctx, grant.ID)
	if err != nil {
		return false, err
	}
	if fence == 0 {
		_ = d.settle(ctx) // without it the lease, which holds no key, expires
		return false, nil
	}
	return d.begin(&hold{
		lease: grant.ID, fence: fence, lost: lost, until: end(sent, grant.TTL), ttl: seconds(grant.TTL),
	})
}

// make makes the key with a lease, and returns its revision: 0 if there is a holder. The client may
// have repeated the transaction because an answer was lost; then the key is there, with the value of
// this hold.
func (d *door) make(ctx context.Context, lease clientv3.LeaseID) (fence int64, err error) {
	value := encodeHolder(d.owner)
	made, err := d.s.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(d.key), "=", 0)).
		Then(clientv3.OpPut(d.key, value, clientv3.WithLease(lease))).Else(clientv3.OpGet(d.key)).Commit()
	if err != nil {
		return 0, d.s.explain(ctx, d.key, err)
	}
	if made.Succeeded {
		return made.Header.Revision, nil
	}
	for _, kv := range made.Responses[0].GetResponseRange().Kvs {
		if string(kv.Value) == value {
			return kv.CreateRevision, nil
		}
	}
	return 0, nil
}

// taken reports whether there is a holder.
func (d *door) taken(ctx context.Context) (bool, error) {
	got, err := d.s.client.Get(ctx, d.key)
	if err != nil {
		return false, d.s.explain(ctx, d.key, err)
	}
	if len(got.Kvs) == 0 {
		return false, nil
	}
	if _, ok := decodeHolder(got.Kvs[0].Value); !ok {
		return false, foreign(d.key, "its value is none of ours")
	}
	return true, nil
}

// begin makes the door the holder.
func (d *door) begin(h *hold) (bool, error) {
	h.ctx, h.cancel = context.WithCancel(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = rest{h.lease, h.fence}
	switch {
	case d.closed:
		h.cancel()
		return false, d.refuse(locks.ErrClosed)
	case !time.Now().Before(h.until):
		h.cancel()
		return false, expired(d.key, errors.New("etcd has answered too late"))
	}
	d.hold, d.rest = h, rest{}
	d.keeping.Go(func() { d.keep(h) })
	return true, nil
}

// Release implements locks.Lock.
func (d *door) Release(ctx context.Context) error {
	d.drop()
	ctx, done, err := d.await(ctx, context.Background())
	if err != nil {
		return err
	}
	defer done()
	d.drop() // that of an Acquire which had the turn before
	return d.settle(ctx)
}

// drop ends the hold on this side.
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
		_, err := d.s.client.Txn(ctx).If(d.holds(r.fence)).Then(clientv3.OpDelete(d.key)).Commit()
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

// holds is the condition of everything that only the holder may do.
func (d *door) holds(fence int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(d.key), "=", fence)
}

// Until implements locks.Lock.
func (d *door) Until() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hold == nil {
		return time.Time{}
	}
	return d.hold.until
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

// The value of a lease's key is the magic, the id of the hold, and the owner.
const holderMagic = "coterie lease 1\n"

func encodeHolder(owner string) string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s%s\n%s, process %d on %s", holderMagic, random(), owner, os.Getpid(), host)
}

// decodeHolder returns the owner.
func decodeHolder(value []byte) (owner string, ok bool) {
	text, ok := strings.CutPrefix(string(value), holderMagic)
	if !ok {
		return "", false
	}
	_, owner, ok = strings.Cut(text, "\n")
	return owner, ok
}
