package disk

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
)

// A mark covers what is computed up to its time, counted from before it was written. So it covers a
// grant of a process that stands still between the two, and nothing that is later.
func TestAMarkCoversWhatItSays(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const lease = 8 * time.Second
		var slow atomic.Int64
		var until atomic.Pointer[time.Time] // when the next node takes this one to be at work
		put := func(ahead time.Duration) (bool, error) {
			<-time.After(time.Duration(slow.Load()))
			at := time.Now().Add(ahead)
			until.Store(&at)
			return true, nil
		}
		k := newMarker(put, func() error { return nil }, lease, nil)
		if k.covers(time.Now()) {
			t.Error("covered before the first mark")
		}
		check := func(when string) {
			t.Helper()
			synctest.Wait()
			marked := *until.Load()
			for at := time.Now(); at.Before(time.Now().Add(2 * lease)); at = at.Add(100 * time.Millisecond) {
				if k.covers(at) && at.After(marked) {
					t.Errorf("%s: %v after now is covered, and the mark says %v",
						when, time.Until(at), time.Until(marked))
				}
			}
		}
		if err := k.move(); err != nil || !k.covers(time.Now()) || !k.covers(time.Now().Add(lease/2)) {
			t.Errorf("not covered by the first mark: %v", err)
		}
		check("at first")
		slow.Store(int64(2 * time.Second)) // as when the disk is slow, or the process stood still
		for range 20 {
			<-time.After(300 * time.Millisecond)
			check("slow")
		}
		if !k.covers(time.Now()) {
			t.Error("a mark that takes two seconds is late")
		}
		slow.Store(int64(time.Minute))
		<-time.After(time.Minute - time.Second)
		if check("hanging"); k.covers(time.Now()) {
			t.Error("covered while no mark is written")
		}
		slow.Store(0)
		<-time.After(2 * time.Second)
		if check("after it"); !k.covers(time.Now()) {
			t.Error("not covered when the disk is well again")
		}
		end := time.Now()
		if k.stop(); until.Load().After(end) {
			t.Errorf("the last mark is of %v after the end", until.Load().Sub(end))
		}
	})
}

// A mark that fails is taken away, and then this node may do what it likes. If that fails too it
// grants nothing.
func TestAMarkThatFails(t *testing.T) {
	full := errors.New("no space left on device")
	for _, kept := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			var told []bool
			var works atomic.Bool
			works.Store(true)
			put := func(time.Duration) (bool, error) {
				if works.Load() {
					return true, nil
				}
				return true, full
			}
			remove := func() error {
				if kept {
					return full
				}
				return nil
			}
			k := newMarker(put, remove, time.Second, func(err error, kept bool) { told = append(told, kept) })
			defer k.stop()
			if err := k.move(); err != nil {
				t.Fatal(err)
			}
			works.Store(false)
			<-time.After(time.Minute)
			synctest.Wait()
			if len(told) != 1 || told[0] != kept {
				t.Errorf("kept %t: told %v", kept, told)
			}
			if k.covers(time.Now()) == kept {
				t.Errorf("kept %t: covered %t", kept, !kept)
			}
			works.Store(true)
			<-time.After(time.Second)
			if synctest.Wait(); !k.covers(time.Now()) {
				t.Errorf("kept %t: not covered when the disk is well again", kept)
			}
		})
	}
}

// Where no clock outlives a process there is no mark, and none is waited for.
func TestNoMarkIsWaitedForWhereThereCanBeNone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		k := newMarker(func(time.Duration) (bool, error) { return false, nil }, nil, time.Second, nil)
		defer k.stop()
		if err := k.move(); err != nil || !k.covers(time.Now().Add(time.Hour)) {
			t.Errorf("not covered: %v", err)
		}
	})
}
