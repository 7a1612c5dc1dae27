package answers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// One question serves all that ask while it is under way, and within the time to live.
func TestShared(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, asked := New[int](time.Second, 2, time.Now), 0
		ask := func(context.Context) (int, error) {
			asked++
			<-time.After(100 * time.Millisecond)
			return asked, nil
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if x, err := c.Get(t.Context(), "k", ask); x != 1 || err != nil {
					t.Error(x, err)
				}
			})
		}
		wg.Wait()
		if x, _ := c.Get(t.Context(), "k", ask); x != 1 {
			t.Errorf("a fresh answer was not used: %d", x)
		}
		<-time.After(time.Second)
		if x, _ := c.Get(t.Context(), "k", ask); x != 2 {
			t.Errorf("a stale answer was used: %d", x)
		}
		if c.Clear(); asked != 2 {
			t.Errorf("%d questions", asked)
		}
		if x, _ := c.Get(t.Context(), "k", ask); x != 3 {
			t.Errorf("an answer was used that was forgotten: %d", x)
		}
	})
}

// A caller that goes does not take the answer from the others. More questions than may be are
// refused, and those that were answered make room.
func TestBounds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := New[string](time.Second, 2, time.Now)
		slow := func(ctx context.Context) (string, error) {
			<-time.After(time.Second)
			return "late", ctx.Err()
		}
		hasty, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Get(hasty, "a", slow); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if x, err := c.Get(t.Context(), "a", slow); x != "late" || err != nil {
				t.Error(x, err)
			}
		})
		wg.Go(func() { _, _ = c.Get(t.Context(), "b", slow) })
		synctest.Wait()
		if _, err := c.Get(t.Context(), "c", slow); !errors.Is(err, ErrBusy) {
			t.Errorf("a third question was let in: %v", err)
		}
		wg.Wait()
		if _, err := c.Get(t.Context(), "c", slow); err != nil {
			t.Error(err)
		}
	})
}

// A failure is told to all that wait, and is not kept. So is a panic.
func TestFailures(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := New[int](time.Minute, 1, time.Now)
		broken := errors.New("broken")
		if _, err := c.Get(t.Context(), "k", func(context.Context) (int, error) { return 0, broken }); err != broken {
			t.Error(err)
		}
		if _, err := c.Get(t.Context(), "k", func(context.Context) (int, error) { panic("no") }); err == nil {
			t.Error("a panic is no error")
		}
		if x, err := c.Get(t.Context(), "k", func(context.Context) (int, error) { return 7, nil }); x != 7 ||
			err != nil {
			t.Error(x, err)
		}
	})
}

// However many keys callers invent, the cache stays small.
func TestManyKeys(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := New[int](time.Hour, 1, time.Now)
		for i := range 10 * keysMax {
			if _, err := c.Get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) {
				return i,
					nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if len(c.byKey) > keysMax {
			t.Errorf("%d answers are kept", len(c.byKey))
		}
	})
}

// Questions that have all permits go on when they ask for something themselves.
func TestQuestionsWithinQuestions(t *testing.T) {
	const most = 3
	c := New[int](time.Minute, most, time.Now)
	var entered, all sync.WaitGroup
	entered.Add(most)
	for i := range most {
		all.Go(func() {
			_, err := c.Get(t.Context(), fmt.Sprint("search ", i), func(ctx context.Context) (int, error) {
				entered.Done()
				entered.Wait() // all permits are taken
				return c.Get(ctx, "cluster", func(context.Context) (int, error) { return 1, nil })
			})
			if err != nil {
				t.Errorf("search %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for i := range most { // and all are free again
		if _, _, err := c.find(fmt.Sprint("next ", i), true); err != nil {
			t.Errorf("permit %d: %v", i, err)
		}
	}
}
