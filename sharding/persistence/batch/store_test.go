package batch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
)

// odd is a store that answers oddly where a test says so.
type odd struct {
	*memory.Store
	ids     []uint64              // of the writes
	refused []persistence.Refusal // what Append answers in place of storing; nil: it stores
	noEnds  bool                  // Load returns no End
	twice   bool                  // LoadSnapshots calls each twice
	breaks  bool                  // LoadSnapshots fails when it has called each
	loads   int                   // calls of LoadSnapshots
}

func (o *odd) Append(ctx context.Context, h persistence.Hosting, writes []persistence.Write) (
	[]persistence.Refusal, error) {
	for _, w := range writes {
		o.ids = append(o.ids, w.ID)
	}
	if o.refused != nil {
		return o.refused, nil
	}
	return o.Store.Append(ctx, h, writes)
}

func (o *odd) Load(ctx context.Context, h persistence.Hosting, reads []persistence.Read,
	each func(int, persistence.Event) error) ([]persistence.End, error) {
	ends, err := o.Store.Load(ctx, h, reads, each)
	if o.noEnds {
		ends = nil
	}
	return ends, err
}

func (o *odd) LoadSnapshots(ctx context.Context, h persistence.Hosting, reads []persistence.SnapshotRead,
	each func(int, persistence.Snapshot) error) error {
	o.loads++
	err := o.Store.LoadSnapshots(ctx, h, reads, each)
	if err == nil && o.twice {
		err = o.Store.LoadSnapshots(ctx, h, reads, each)
	}
	if o.breaks {
		err = errBroken
	}
	return err
}

// newOddWorld is a client over a store that is odd.
func newOddWorld(t *testing.T, s Settings) (*world, *odd) {
	t.Helper()
	w := newWorld(t, s)
	o := &odd{Store: w.store}
	w.c.cfg.Journal, w.c.cfg.Snapshots = o, o
	return w, o
}

// Each write has an ID of its own, which fits into 63 bits: one that comes again from elsewhere is no
// repetition, although it follows the same event.
func TestEachWriteHasAnID(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, o := newOddWorld(t, Settings{})
		defer w.close()
		h := hostingOn(1, 1)
		wantErr(t, w.append(h, writeOf("x", 0, "a")), nil)
		wantErr(t, w.append(h, writeOf("x", 0, "a")), persistence.ErrConflict)
		if len(o.ids) != 2 || o.ids[0] == o.ids[1] || (o.ids[0]|o.ids[1])>>63 != 0 {
			t.Errorf("the IDs are %x", o.ids)
		}
		for _, want := range []error{nil, persistence.ErrConflict} {
			wantErr(t, await(func(done func(error)) {
				w.c.SaveState(h, persistence.StateWrite{Entity: "y", State: persistence.State{Revision: 1}}, done)
			}), want)
		}
	})
}

// What a repetition cannot help is not repeated.
func TestHopelessErrors(t *testing.T) {
	for _, hopeless := range []error{
		persistence.ErrConflict, persistence.ErrTooLarge, persistence.ErrDamaged, persistence.ErrForeign,
		persistence.ErrVersion, persistence.ErrClosed,
	} {
		bubble.Test(t, func(t *testing.T) {
			w := newWorld(t, Settings{})
			defer w.close()
			h := hostingOn(1, 1)
			wantErr(t, w.append(h, writeOf("x", 0, "a")), nil)
			calls := 0
			w.store.Before(func(context.Context, string) error { calls++; return hopeless })
			began := time.Now()
			wantErr(t, w.append(h, writeOf("x", 1, "b")), hopeless)
			if took := time.Since(began); calls != 1 || took > 0 {
				t.Errorf("%v: %d calls in %v", hopeless, calls, took)
			}
		})
	}
}

// A refusal that does not say what was refused, or why, is no answer: the write is not acknowledged.
func TestOddRefusals(t *testing.T) {
	for _, r := range []persistence.Refusal{{Index: 0}, {Index: 1, Err: errBroken}, {Index: -1, Err: errBroken}} {
		bubble.Test(t, func(t *testing.T) {
			w, o := newOddWorld(t, Settings{})
			defer w.close()
			o.refused = []persistence.Refusal{r}
			err := w.append(hostingOn(1, 1), writeOf("x", 0, "a"))
			wantErr(t, err, ErrGaveUp)
			if err == nil || !strings.Contains(err.Error(), "the store refuses write") {
				t.Error(err)
			}
		})
	}
}

// A load whose end is missing has failed, and says so.
func TestALoadWithoutAnEnd(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, o := newOddWorld(t, Settings{})
		defer w.close()
		o.noEnds = true
		_, _, err := w.load(hostingOn(1, 1), "x", 0)
		wantErr(t, err, ErrGaveUp)
		if err == nil || !strings.Contains(err.Error(), "answered 0 of 1 reads") {
			t.Error(err)
		}
	})
}

// A snapshot comes once: from a store that brings it twice, and from a call that fails after it has
// come.
func TestASnapshotComesOnce(t *testing.T) {
	for _, twice := range []bool{true, false} {
		bubble.Test(t, func(t *testing.T) {
			w, o := newOddWorld(t, Settings{})
			defer w.close()
			h, came := hostingOn(1, 1), 0
			wantErr(t, await(func(done func(error)) {
				w.c.SaveSnapshot(h, persistence.Snapshot{Entity: "x", Seq: 1, Body: []byte("a")}, done)
			}), nil)
			o.twice, o.breaks = twice, !twice
			wantErr(t, await(func(done func(error)) {
				w.c.LoadSnapshot(h, persistence.SnapshotRead{Entity: "x"}, func(persistence.Snapshot) error {
					came++
					return nil
				}, done)
			}), nil)
			if came != 1 || o.loads != 1 {
				t.Errorf("twice %v: it came %d times, in %d calls", twice, came, o.loads)
			}
		})
	}
}

// After an error of each nothing more comes, and that is the end of the load.
func TestNothingComesAfterAnErrorOfEach(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{})
		defer w.close()
		h, came := hostingOn(1, 1), 0
		for i := range uint64(3) {
			wantErr(t, w.append(h, writeOf("x", i, "e")), nil)
		}
		wantErr(t, await(func(done func(error)) {
			w.c.Load(h, persistence.Read{Entity: "x"}, func(persistence.Event) error {
				came++
				return errBroken
			}, func(_ persistence.End, err error) { done(err) })
		}), errBroken)
		if came != 1 {
			t.Errorf("%d events came", came)
		}
	})
}

// A load that is given up while each runs ends when that has returned.
func TestDoneWaitsForEach(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, Settings{CallTimeout: time.Second, GiveUpAfter: 2 * time.Second})
		defer w.close()
		h, returned := hostingOn(1, 1), false
		wantErr(t, w.append(h, writeOf("x", 0, "e")), nil)
		err := await(func(done func(error)) {
			w.c.Load(h, persistence.Read{Entity: "x"}, func(persistence.Event) error {
				<-time.After(5 * time.Second)
				returned = true
				return nil
			}, func(end persistence.End, err error) {
				if !returned || end != (persistence.End{}) {
					err = errors.Join(err, errors.New("done while each runs"))
				}
				done(err)
			})
		})
		wantErr(t, err, ErrGaveUp)
		if err != nil && strings.Contains(err.Error(), "while each runs") {
			t.Error(err)
		}
	})
}

// The bounds in bytes count all that an event carries.
func TestSizeOf(t *testing.T) {
	e := persistence.Event{Name: "added", Body: []byte("body"), Tags: []string{"red", "blue"}}
	if got, want := sizeOf([]persistence.Event{e, e}), 2*(overhead+5+4+7); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
