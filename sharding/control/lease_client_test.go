package control

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// lossyStore grants, and loses the answer.
type lossyStore struct{ *locks.Memory }

type lossyLock struct{ locks.Lock }

var errAnswer = errors.New("the answer is lost")

func (s lossyStore) Lock(name, owner string) (locks.Lock, error) {
	l, err := s.Memory.Lock(name, owner)
	return lossyLock{l}, err
}

func (l lossyLock) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	if ok, err := l.Lock.Acquire(ctx, lost); !ok || err != nil {
		return ok, err
	}
	return false, errAnswer
}

// A lease that may have been granted is given back, or it would be held here without use.
func TestALeaseThatMayHaveBeenGrantedIsGivenBack(t *testing.T) {
	store := lossyStore{locks.NewMemory()}
	c := &leaseClient{
		ctx: t.Context(), store: store, name: "l", owner: "one", log: slog.New(slog.DiscardHandler),
		scheduler: scheduler.Goroutines{},
	}
	told := make(chan any, 1)
	c.acquire(5, func(h *lease.Hold, in any) {
		if h != nil {
			t.Error("it is held")
		}
		told <- in
	})
	if in, ok := (<-told).(protocol.LeaseRefused); !ok || in.Gen != 5 || !strings.Contains(in.Text, errAnswer.Error()) {
		t.Errorf("told %v", in)
	}
	if err := c.settled(t.Context()); err != nil {
		t.Error(err)
	}
	other, err := store.Memory.Lock("l", "two")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := other.Acquire(t.Context(), func(error) {}); !ok || err != nil {
		t.Errorf("another owner gets it: %v, %v", ok, err)
	}
	if err := errors.Join(other.Release(t.Context()), other.Close()); err != nil {
		t.Error(err)
	}
}

// gatedStore answers an Acquire when it is told to.
type gatedStore struct {
	*locks.Memory
	begun, answer chan struct{}
}

type gatedLock struct {
	locks.Lock
	s gatedStore
}

func (s gatedStore) Lock(name, owner string) (locks.Lock, error) {
	l, err := s.Memory.Lock(name, owner)
	return gatedLock{l, s}, err
}

func (l gatedLock) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	l.s.begun <- struct{}{}
	<-l.s.answer
	return l.Lock.Acquire(ctx, lost)
}

// What is released before its turn has come is not acquired: a store that hangs would be asked again
// and again for what is not wanted any more.
func TestAReleaseTakesBackWhatHasNotBegun(t *testing.T) {
	store := gatedStore{locks.NewMemory(), make(chan struct{}, 2), make(chan struct{})}
	c := &leaseClient{
		ctx: t.Context(), store: store, name: "l", owner: "one", log: slog.New(slog.DiscardHandler),
		scheduler: scheduler.Goroutines{},
	}
	told := make(chan any, 2)
	tell := func(_ *lease.Hold, in any) { told <- in }
	c.acquire(1, tell)
	<-store.begun
	c.acquire(2, tell)
	released := make(chan struct{})
	c.release(nil, func() { close(released) })
	close(store.answer)
	<-released
	if err := c.settled(t.Context()); err != nil {
		t.Error(err)
	}
	if in, ok := (<-told).(protocol.LeaseGranted); !ok || in.Gen != 1 || len(told) != 0 {
		t.Errorf("told %v, and %d times more", in, len(told))
	}
}
