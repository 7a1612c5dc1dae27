package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

const (
	// drift is by how much the rates of the clocks of etcd and of this process may differ, in percent.
	drift = 3
	// renewals is how often a lease is renewed in its TTL.
	renewals = 6
	// attempts is how often a renewal that has failed is tried again in the time between two.
	attempts = 4
)

// hold is one time of being the holder. The door's lock guards until and ttl.
type hold struct {
	lease clientv3.LeaseID
	fence int64 // the revision that has made the key

	until time.Time
	ttl   time.Duration
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// lasts reports whether the time of a hold is not over. It looks at both clocks of the process: during
// a suspend the monotonic one may stand still. The door's lock is held.
func (h *hold) lasts(now time.Time) bool {
	return now.Before(h.until) && now.Round(0).Before(h.until.Round(0))
}

// end is until when a lease lasts for certain that was granted or renewed by a request sent at a time.
func end(sent time.Time, ttl int64) time.Time {
	d := seconds(ttl)
	return sent.Add(d - d*drift/100)
}

// Rest implements door.System.
func (*lease) Rest(h *hold) rest { return rest{h.lease, h.fence} }

// End implements door.System.
func (*lease) End(h *hold) time.Time { return h.until }

// Lasts implements door.System.
func (*lease) Lasts(h *hold) bool { return h.lasts(time.Now()) }

// Expired implements door.System.
func (l *lease) Expired() error { return expired(l.key, nil) }

// Late implements door.System.
func (l *lease) Late() error { return expired(l.key, errors.New("etcd has answered too late")) }

// errGone: the key is not the one of the hold.
var errGone = errors.New("the key is not that of the hold")

// Keep implements door.System.
func (l *lease) Keep(ctx context.Context, h *hold) {
	var failure error
	timer := time.NewTimer(min(h.ttl/renewals, time.Until(h.until)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wait, err := l.renew(ctx, h)
		if err != nil && ctx.Err() == nil {
			failure = err
		}
		switch {
		case errors.Is(err, errGone):
			l.Lose(h, replaced(l.key))
			return
		case wait <= 0:
			l.Lose(h, expired(l.key, failure))
			return
		}
		timer.Reset(wait)
	}
}

// renew renews a hold once, and returns when to try again: at the end of the hold at the latest.
func (l *lease) renew(life context.Context, h *hold) (wait time.Duration, err error) {
	var until time.Time
	var ttl time.Duration
	l.Locked(func() { until, ttl = h.until, h.ttl })
	every, sent := ttl/renewals, time.Now()
	last := sent.Add(min(l.s.timeout, ttl/attempts))
	if until.Before(last) {
		last = until
	}
	ctx, cancel := context.WithDeadline(clientv3.WithRequireLeader(life), last)
	defer cancel()
	by := l.s.line.get()
	answer, err := l.confirm(ctx, h, by)
	if err != nil {
		if life.Err() == nil {
			l.s.line.replace(by)
		}
		return min(every/attempts, time.Until(until)), err
	}
	l.Locked(func() {
		if !h.lasts(time.Now()) {
			return
		}
		if u := end(sent, answer); u.After(h.until) {
			h.until = u
		}
		h.ttl = seconds(answer)
		wait = min(every, time.Until(h.until))
	})
	return wait, nil
}

// confirm renews the lease of a hold and returns its TTL, in seconds, when it is certain that the
// leader of etcd has renewed it.
//
// A member that takes itself for the leader, and is not any more, renews leases without effect. So
// the key is read after the renewal: that read is confirmed by a majority. The member that took the
// renewal had applied an entry of the term that its answer names, and passed it to a leader of that
// term or a later one. The term that the read names is not below that of the leader that confirmed
// it. If both are the same, the one leader did both, for no majority had gone on to a later term.
//
// A connection beside the client's may look at other keys, if the caller's client adds something to
// them. What it does not see is not gone.
func (l *lease) confirm(ctx context.Context, h *hold, by wire) (ttl int64, err error) {
	alive, err := keepAlive(ctx, by.conn, h.lease)
	if err != nil {
		return 0, l.s.explain(ctx, l.key, err)
	}
	got, err := by.kv.Get(ctx, l.key)
	switch {
	case err != nil:
		return 0, l.s.explain(ctx, l.key, err)
	case len(got.Kvs) == 0 && by.own:
		return 0, fmt.Errorf("lease %s: the key is not seen", l.key)
	case len(got.Kvs) == 0 || got.Kvs[0].CreateRevision != h.fence || got.Kvs[0].Lease != int64(h.lease):
		return 0, errGone
	case alive.TTL <= 0:
		return 0, fmt.Errorf("lease %s: etcd has the key and not its lease %x", l.key, h.lease)
	case alive.Header.RaftTerm != got.Header.RaftTerm:
		return 0, fmt.Errorf("lease %s: the leader of etcd has changed, from term %d to %d", l.key,
			alive.Header.RaftTerm, got.Header.RaftTerm)
	}
	return alive.TTL, nil
}

// keepAlive sends one request. The client's own call of that kind tries again without a pause as long
// as its context lasts.
func keepAlive(
	ctx context.Context, conn *grpc.ClientConn, id clientv3.LeaseID,
) (*pb.LeaseKeepAliveResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewLeaseClient(conn).LeaseKeepAlive(ctx)
	if err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		return nil, clientv3.ContextError(ctx, err)
	}
	answer, err := stream.Recv()
	if err == nil && answer.Header == nil {
		err = rpctypes.ErrNoLeader
	}
	return answer, clientv3.ContextError(ctx, err)
}
