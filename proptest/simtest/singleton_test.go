package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/singletons"
	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/proptest/simtest"
)

// series is a list of numbers outside of the cluster. A singleton goes on with it: each number must be
// higher than all before.
type series struct {
	last, fallen int
	token        singletons.FencingToken
}

// numbering writes one number after another. The store of a fenced one refuses lower tokens.
func numbering(fenced bool) simtest.Singleton {
	var s series
	fence := func(token singletons.FencingToken) error {
		if fenced && token.Less(s.token) {
			return errFenced
		}
		s.token = token
		return nil
	}
	return simtest.Singleton{
		Begin: func() { s = series{} },
		Run: func(ctx context.Context, n *simtest.Node, token singletons.FencingToken) error {
			next := 0
			err := n.Call(ctx, func() error {
				next = s.last
				return fence(token)
			})
			for err == nil {
				next++
				err = n.Call(ctx, func() error {
					if err := fence(token); err != nil {
						return err
					}
					s.fallen = max(s.fallen, s.last-next+1)
					s.last = next
					return nil
				})
				if err == nil {
					err = n.Wait(ctx, 200*time.Millisecond)
				}
			}
			return err
		},
		Invariant: func() error {
			if s.fallen > 0 {
				return fmt.Errorf("the series falls by %d", s.fallen)
			}
			return nil
		},
	}
}

// A singleton whose store takes tokens goes on with its series, whatever happens to nodes and calls.
func TestFencedSingleton(t *testing.T) { numbering(true).Check(t) }

// FuzzSingleton has worlds from a fuzzer.
func FuzzSingleton(f *testing.F) { numbering(true).Fuzz(f) }

// TestUnfencedSingleton fails on purpose: what a run writes arrives after the lease of its node is over, and
// another node runs it.
func TestUnfencedSingleton(t *testing.T) {
	failing.OnPurpose(t)
	numbering(false).Check(t)
}

// TestDeafSingleton fails on purpose: a run that does not heed its context keeps the singleton from running
// again on its node.
func TestDeafSingleton(t *testing.T) {
	failing.OnPurpose(t)
	simtest.Singleton{
		Run: func(_ context.Context, n *simtest.Node, _ singletons.FencingToken) error {
			for {
				if err := n.Wait(context.Background(), time.Hour); err != nil {
					return err
				}
			}
		},
	}.Check(t)
}

// A run that is done after a while is called again. That is enough to be well.
func TestShortSingleton(t *testing.T) {
	runs := 0
	simtest.Singleton{
		Begin: func() { runs = 0 },
		Run: func(ctx context.Context, n *simtest.Node, _ singletons.FencingToken) error {
			if runs++; runs%3 == 0 {
				return errors.New("enough")
			}
			return n.Wait(ctx, time.Second)
		},
	}.Check(t)
	if runs == 0 {
		t.Error("it has never run")
	}
}
