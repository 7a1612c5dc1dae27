package etcd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TryAcquire implements door.Lease: it makes the key of a hold.
func (l *lease) TryAcquire(ctx context.Context) (*hold, error) {
	if taken, err := l.taken(ctx); taken || err != nil {
		return nil, err
	}
	sent := time.Now()
	grant, err := l.s.client.Grant(ctx, int64(l.s.ttl/time.Second))
	if err != nil {
		return nil, l.s.explain(ctx, l.key, err)
	}
	l.Leave(rest{lease: grant.ID})
	fence, err := l.make(ctx, grant.ID)
	if err != nil {
		return nil, err
	}
	if fence == 0 {
		_ = l.Settle(ctx) // without it the lease, which holds no key, expires
		return nil, nil
	}
	return &hold{lease: grant.ID, fence: fence, until: end(sent, grant.TTL), ttl: seconds(grant.TTL)}, nil
}

// make makes the key with a lease, and returns its revision: 0 if there is a holder. The client may
// have repeated the transaction because an answer was lost; then the key is there, with the value of
// this hold.
func (l *lease) make(ctx context.Context, id clientv3.LeaseID) (fence int64, err error) {
	value := encodeHolder(l.owner)
	made, err := l.s.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(l.key), "=", 0)).
		Then(clientv3.OpPut(l.key, value, clientv3.WithLease(id))).Else(clientv3.OpGet(l.key)).Commit()
	if err != nil {
		return 0, l.s.explain(ctx, l.key, err)
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
func (l *lease) taken(ctx context.Context) (bool, error) {
	got, err := l.s.client.Get(ctx, l.key)
	if err != nil {
		return false, l.s.explain(ctx, l.key, err)
	}
	if len(got.Kvs) == 0 {
		return false, nil
	}
	kv := got.Kvs[0]
	switch _, ok := decodeHolder(kv.Value); {
	case !ok:
		return false, foreign(l.key, "its value is none of ours")
	case kv.Lease == 0:
		return false, foreign(l.key, "it has no lease, so it would stay without an end: something else has written it")
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
