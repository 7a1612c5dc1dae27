package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/door"
)

// lease is one owner's lock of one name.
type lease struct {
	*door.Door[*hold, rest]
	s           *Store
	key, record string
	owner       string
}

// rest is what a former hold, or a failed attempt at one, may have left in etcd.
type rest struct {
	lease clientv3.LeaseID // 0 = nothing
	fence int64            // of the key; 0 = the transaction that makes it has not answered
}

var (
	_ locks.Lock               = (*lease)(nil)
	_ locks.Holder             = (*lease)(nil)
	_ door.System[*hold, rest] = (*lease)(nil)
)

func (s *Store) lease(name, owner string) *lease {
	l := &lease{s: s, key: s.prefix + "leases/" + name, record: s.prefix + "records/" + name, owner: owner}
	l.Door = door.New(l)
	return l
}

// Refer implements door.System. A call that has ended with the client says so, wherever it was.
func (l *lease) Refer(err error) error {
	if errors.Is(err, context.Canceled) && l.s.client.Ctx().Err() != nil {
		return l.s.explain(context.Background(), l.key, err)
	}
	return fmt.Errorf("lease %s: %w", l.key, err)
}

// Bound implements door.System. Calls end with the client, too.
func (l *lease) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), l.s.timeout)
	stay := context.AfterFunc(l.s.client.Ctx(), cancel)
	return ctx, func() { stay(); cancel() }
}

// Undo implements door.System. A transaction that makes the key, and comes after the lease was
// revoked, fails. A lease that could not be revoked holds no key, and expires.
func (l *lease) Undo(ctx context.Context, r rest) error {
	if r.fence != 0 {
		_, err := l.s.client.Txn(ctx).If(l.holds(r)...).Then(clientv3.OpDelete(l.key)).Commit()
		if err != nil {
			return l.s.explain(ctx, l.key, err)
		}
	}
	_, err := l.s.client.Revoke(ctx, r.lease)
	if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) && r.fence == 0 {
		return l.s.explain(ctx, l.key, err)
	}
	return nil
}

// holds is the condition of everything that only the holder may do. A key that something else has
// written over does not have the lease.
func (l *lease) holds(r rest) []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(l.key), "=", r.fence),
		clientv3.Compare(clientv3.LeaseValue(l.key), "=", r.lease),
	}
}

// Holder implements locks.Holder. It names the present holder.
func (l *lease) Holder(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, l.s.timeout)
	defer cancel()
	got, err := l.s.client.Get(ctx, l.key)
	if err != nil || len(got.Kvs) == 0 {
		return ""
	}
	owner, _ := decodeHolder(got.Kvs[0].Value)
	return owner
}
