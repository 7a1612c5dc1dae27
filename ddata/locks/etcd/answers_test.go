package etcd_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/etcd/etcdtest"
)

// between takes transactions on their way to etcd, when it is set.
type between struct {
	mu   sync.Mutex
	take func(call func(context.Context) error) error
}

func (b *between) set(take func(call func(context.Context) error) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take = take
}

func (b *between) option(c *clientv3.Config) {
	c.DialOptions = append(c.DialOptions, grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string,
		req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		b.mu.Lock()
		take := b.take
		b.mu.Unlock()
		call := func(ctx context.Context) error { return invoke(ctx, method, req, reply, cc, opts...) }
		if take == nil || method != "/etcdserverpb.KV/Txn" {
			return call(ctx)
		}
		return take(call)
	}))
}

// contest is two doors of one lock at two stores; b takes the transactions of the first.
func contest(t *testing.T, ttl int) (b *between, mine, other locks.Lock) {
	t.Helper()
	addrs := etcdtest.Start(t, 1).Addrs()
	b = &between{}
	return b, drill.Door(t, open(t, "p", ttl, addrs, b.option), "me"), drill.Door(t, open(t, "p", ttl, addrs), "other")
}

// The client repeats no transaction after the first of these, and does so after the second.
var (
	errNoAnswer = status.Error(codes.Unavailable, "the answer was lost")
	errLate     = status.Error(codes.DeadlineExceeded, "the answer was late")
)

// The answer of the transaction that acquires gets lost: the owner does not count as the holder, and
// gets the lease, or gives it back, as if nothing had happened.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	b, mine, other := contest(t, 15)
	drill.LostAnswers(t, mine, other, func(on bool) {
		if !on {
			b.set(nil)
			return
		}
		b.set(func(call func(context.Context) error) error {
			if err := call(t.Context()); err != nil {
				t.Error(err)
			}
			return errNoAnswer
		})
	})
}

// The client repeats the transaction that acquires. It finds the key that it has made.
func TestRepeatedTransaction(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	var b between
	calls := 0
	b.set(func(call func(context.Context) error) error {
		err := call(t.Context())
		if calls++; calls == 1 && err == nil {
			return errLate
		}
		return err
	})
	l := drill.Door(t, open(t, "p", 15, addrs, b.option), "me")
	calls = 0 // the store's own id is made
	drill.Acquire(t, l)
	b.set(nil)
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
	if err := l.Save(t.Context(), []byte("x")); err != nil {
		t.Error(err)
	}
}

// A transaction that acquires, and reaches etcd when its owner has given up, takes no effect.
func TestLateTransaction(t *testing.T) {
	t.Parallel()
	b, mine, other := contest(t, 15)
	var late func(context.Context) error
	b.set(func(call func(context.Context) error) error {
		late = call
		return errNoAnswer
	})
	if ok, err := mine.Acquire(t.Context(), nil); ok || err == nil {
		t.Fatal(ok, err)
	}
	b.set(nil)
	if err := mine.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := late(t.Context()); err == nil {
		t.Error("it takes effect")
	}
	drill.Acquire(t, other)
}

// A release that gives up while its door acquires leaves no hold that is renewed, and no error of
// etcd for the one that acquires.
func TestReleaseDuringAcquire(t *testing.T) {
	t.Parallel()
	b, mine, other := contest(t, 2)
	released := make(chan error, 1)
	b.set(func(call func(context.Context) error) error {
		err := call(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		released <- mine.Release(ctx)
		return err
	})
	ok, err := mine.Acquire(t.Context(), nil)
	b.set(nil)
	if ok || !errors.Is(err, locks.ErrNotHeld) || !mine.Until().IsZero() {
		t.Errorf("acquired %t, %v, until %v", ok, err, mine.Until())
	}
	if err := <-released; !errors.Is(err, context.Canceled) {
		t.Error("released:", err)
	}
	drill.Eventually(t, "the lease of etcd ends", func() bool {
		ok, err := other.Acquire(t.Context(), nil)
		return ok && err == nil
	})
}

// A door that is closed while it acquires leaves nothing behind, and says that it is closed.
func TestCloseDuringAcquire(t *testing.T) {
	t.Parallel()
	b, mine, other := contest(t, 15)
	closed, taken := make(chan error, 1), make(chan struct{})
	b.set(func(call func(context.Context) error) error {
		b.set(nil) // the release goes through
		err := call(t.Context())
		go func() { closed <- mine.Close() }()
		drill.Eventually(t, "it is closed", func() bool {
			_, err := mine.Load(t.Context())
			return errors.Is(err, locks.ErrClosed)
		})
		close(taken)
		return err
	})
	if ok, err := mine.Acquire(t.Context(), nil); ok || !errors.Is(err, locks.ErrClosed) {
		t.Errorf("acquired %t, %v", ok, err)
	}
	<-taken
	if err := <-closed; err != nil {
		t.Error("closed:", err)
	}
	drill.Acquire(t, other)
}

// A save that reaches etcd after its holder has released, and another has saved, takes no effect.
func TestLateSave(t *testing.T) {
	t.Parallel()
	b, mine, other := contest(t, 15)
	drill.Acquire(t, mine)
	var late func(context.Context) error
	b.set(func(call func(context.Context) error) error {
		late = call
		return errNoAnswer
	})
	if err := mine.Save(t.Context(), []byte("late")); !errors.Is(err, locks.ErrUnusable) {
		t.Fatal(err)
	}
	b.set(nil)
	if err := mine.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	drill.Acquire(t, other)
	if err := errors.Join(other.Save(t.Context(), []byte("new")), late(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Load(t.Context()); string(got) != "new" || err != nil {
		t.Errorf("the record is %q, %v", got, err)
	}
}

// The answer of a release gets lost: the next call clears that up.
func TestLostAnswerOfRelease(t *testing.T) {
	t.Parallel()
	b, mine, other := contest(t, 15)
	drill.Acquire(t, mine)
	b.set(func(func(context.Context) error) error { return errNoAnswer })
	if err := mine.Release(t.Context()); !errors.Is(err, locks.ErrUnusable) || !mine.Until().IsZero() {
		t.Errorf("released: %v, until %v", err, mine.Until())
	}
	b.set(nil)
	if ok, err := other.Acquire(t.Context(), nil); ok || err != nil {
		t.Fatal("nothing was released, and another acquires:", ok, err)
	}
	if err := mine.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	drill.Acquire(t, other)
}

// older has the answers of renewals name an earlier term, as those of a former leader do.
type older struct{ grpc.ClientStream }

func (o older) RecvMsg(m any) error {
	err := o.ClientStream.RecvMsg(m)
	if a, ok := m.(*pb.LeaseKeepAliveResponse); ok && err == nil {
		a.Header.RaftTerm--
	}
	return err
}

// Renewals by a member that is not the leader any more prolong nothing.
func TestRenewalsByAFormerLeader(t *testing.T) {
	t.Parallel()
	addrs := etcdtest.Start(t, 1).Addrs()
	l := drill.Door(t, open(t, "p", 1, addrs, func(c *clientv3.Config) {
		c.DialOptions = append(c.DialOptions, grpc.WithChainStreamInterceptor(func(ctx context.Context,
			desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			s, err := streamer(ctx, desc, cc, method, opts...)
			return older{s}, err
		}))
	}), "me")
	lost := drill.Acquire(t, l)
	if err := drill.Told(t, lost); !errors.Is(err, locks.ErrNotHeld) {
		t.Error("the loss:", err)
	}
}
