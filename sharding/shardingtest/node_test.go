package shardingtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
)

func contains(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// Without the lease no handler begins; what came meanwhile is handled when it is back.
func TestLease(t *testing.T) {
	both(t, func(t *testing.T) {
		k := kit(t)
		tells(t, k, "a", add{1})
		k.LoseLease()
		q := StartAsk(k, "a", total{})
		k.Advance(time.Second)
		if q.Answered() {
			t.Error("a handler ran without the lease")
		}
		k.RegainLease()
		if n, err := q.Wait(); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// A handler that loses the lease sees it: its effects are refused and its Context has ended.
func TestLeaseIsLostInAHandler(t *testing.T) {
	both(t, func(t *testing.T) {
		hook := func() {}
		k := New(t, sumType(new(int), &hook))
		hook = k.LoseLease
		q := StartAsk(k, "a", inside{})
		k.RegainLease()
		if _, err := q.Wait(); !errors.Is(err, sharding.ErrNoLease) {
			t.Errorf("the asker gets %v", err)
		}
		all := k.Failures()
		if len(all) != 1 || !errors.Is(all[0].Err, sharding.ErrNoLease) ||
			strings.Count(all[0].Err.Error(), sharding.ErrNoLease.Error()) != 2 ||
			!errors.Is(all[0].Err, context.Canceled) {
			t.Errorf("the handler got %v", all)
		}
		wants(t, k, "a", 0)
	})
}

// A crash takes what is in memory, and leaves what is stored. Tokens rise.
func TestRestart(t *testing.T) {
	both(t, func(t *testing.T) {
		stops := 0
		k := New(t, sumType(&stops, nil))
		tells(t, k, "a", add{1})
		tells(t, k, "a", remind{k.Now().Add(time.Hour)})
		before := k.Fence("a")
		k.Restart()
		if stops != 0 || k.Active("a") {
			t.Errorf("%d stops, active %t", stops, k.Active("a"))
		}
		wants(t, k, "a", 0)
		if now := k.Fence("a"); before.IsZero() || !before.Less(now) || !now.Less(k.NewerFence("a")) {
			t.Errorf("token %v after %v, and then %v", now, before, k.NewerFence("a"))
		}
		k.Advance(time.Hour)
		wants(t, k, "a", 1)
	})
}

// A move stops entities in order.
func TestMove(t *testing.T) {
	both(t, func(t *testing.T) {
		stops := 0
		k := New(t, sumType(&stops, nil))
		tells(t, k, "a", add{1})
		before := k.Fence("a")
		k.Move()
		if stops != 1 {
			t.Errorf("%d stops", stops)
		}
		wants(t, k, "a", 0)
		if now := k.Fence("a"); !before.Less(now) {
			t.Errorf("token %v after %v", now, before)
		}
	})
}

// The kit tells of calls that could never end.
func TestHandlersDoNotLetTimePass(t *testing.T) {
	both(t, func(t *testing.T) {
		hook := func() {}
		k := New(t, sumType(new(int), &hook))
		hook = func() { k.Advance(time.Second) }
		_, err := Ask(k, "a", inside{})
		if !errors.Is(err, sharding.ErrHandler) || !contains(err.Error(), "has called what lets something happen") {
			t.Error(err)
		}
	})
}

func TestStory(t *testing.T) {
	both(t, func(t *testing.T) {
		k := kit(t)
		tells(t, k, "a", add{1})
		_, _ = Ask(k, "a", crash{})
		k.Advance(time.Minute)
		k.Others().Answer(func(string, command) (any, error) { return 1, nil })
		_, _ = Ask(k, "a", pass{To: "b"})
		k.Restart()
		for _, want := range []string{
			"a is told shardingtest.add{N:1}", "a starts under token 1.", "a handles shardingtest.add{N:1}",
			"a failed: a planned failure: stop",
			"1m0s a is asked shardingtest.pass{To:b}", `b of "sum" stands in, and gets shardingtest.total{}`,
			"the node crashes",
			"a has answered shardingtest.pass: 1, <nil>",
		} {
			if !strings.Contains(k.Story(), want) {
				t.Errorf("%q is missing", want)
			}
		}
		if t.Failed() {
			t.Log(k.Story())
		}
	})
}

// Outside of a bubble two runs of a test are the same, to the nanosecond.
func TestRunsAreTheSame(t *testing.T) {
	play := func() (story string, at time.Time) {
		store := &memory.Store{}
		k := accounts(t, store)
		f := k.Faults(store)
		f.Fail(2, "Append")
		f.LoseAnswer(1, "Load")
		for i, id := range []string{"a", "b", "c", "a"} {
			_, err := Ask(k, id, book{Cents: i + 1})
			k.note(id, "%v", err)
			k.Advance(time.Minute)
		}
		k.Restart()
		_, _ = Ask(k, "a", book{Cents: 1})
		return k.Story(), k.Now()
	}
	first, at := play()
	for range 3 {
		if story, now := play(); story != first || !now.Equal(at) {
			t.Fatalf("at %v:\n%s\nand at %v:\n%s", at, first, now, story)
		}
	}
}
