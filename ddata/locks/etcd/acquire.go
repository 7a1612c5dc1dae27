package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
)

// attempt is one call of Acquire, from its begin until it is the hold, fails, or is given up.
type attempt struct {
	d   *door
	ctx context.Context
	end context.CancelFunc
}

// Acquire implements locks.Lock.
func (d *door) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	releases := d.countReleases(0)
	ctx, done, err := d.enter(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if d.held() != nil {
		return true, nil
	}
	a, err := d.try(ctx, releases)
	if err != nil {
		return false, err
	}
	defer a.finish()
	h, err := a.acquire(lost)
	if h == nil || err != nil {
		return false, a.failed(err)
	}
	return a.begin(h)
}

// try begins an attempt. releases is their number when Acquire was called.
func (d *door) try(ctx context.Context, releases int) (*attempt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.refuse(locks.ErrClosed)
	case d.releases != releases:
		return nil, d.releasedError()
	}
	a := &attempt{d: d}
	a.ctx, a.end = context.WithCancel(ctx)
	d.trying = a
	return a, nil
}

func (d *door) releasedError() error {
	return fmt.Errorf("%w: it was released while it was acquired", d.refuse(locks.ErrNotHeld))
}

// finish ends an attempt, if it was not given up.
func (a *attempt) finish() {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if a.d.trying == a {
		a.d.trying = nil
	}
	a.end()
}

// acquire makes the key of a hold: nil if there is a holder.
func (a *attempt) acquire(lost func(error)) (*hold, error) {
	d := a.d
	if err := d.settle(a.ctx); err != nil {
		return nil, err
	}
	if taken, err := d.taken(a.ctx); taken || err != nil {
		return nil, err
	}
	sent := time.Now()
	grant, err := d.s.client.Grant(a.ctx, int64(d.s.ttl/time.Second))
	if err != nil {
		return nil, d.s.explain(a.ctx, d.key, err)
	}
	d.leave(rest{lease: grant.ID})
	fence, err := d.make(a.ctx, grant.ID)
	if err != nil {
		return nil, err
	}
	if fence == 0 {
		_ = d.settle(a.ctx) // without it the lease, which holds no key, expires
		return nil, nil
	}
	return &hold{
		lease: grant.ID, fence: fence, lost: lost, until: end(sent, grant.TTL), ttl: seconds(grant.TTL),
	}, nil
}

// failed is an error of an attempt, or says that the attempt was given up.
func (a *attempt) failed(err error) error {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if given := a.givenUpLocked(); given != nil {
		return given
	}
	return err
}

// givenUpLocked says by what an attempt was given up: nil if it goes on.
func (a *attempt) givenUpLocked() error {
	switch {
	case a.d.closed:
		return a.d.refuse(locks.ErrClosed)
	case a.d.trying != a:
		return a.d.releasedError()
	}
	return nil
}

// begin makes the door the holder.
func (a *attempt) begin(h *hold) (bool, error) {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = rest{h.lease, h.fence}
	if err := a.givenUpLocked(); err != nil {
		return false, err
	}
	if !h.lasts(time.Now()) {
		return false, expired(d.key, errors.New("etcd has answered too late"))
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	d.hold, d.trying, d.rest = h, nil, rest{}
	d.keeping.Go(func() { d.keep(h) })
	return true, nil
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
	kv := got.Kvs[0]
	switch _, ok := decodeHolder(kv.Value); {
	case !ok:
		return false, foreign(d.key, "its value is none of ours")
	case kv.Lease == 0:
		return false, foreign(d.key, "it has no lease, so it would stay without an end: something else has written it")
	}
	return true, nil
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
