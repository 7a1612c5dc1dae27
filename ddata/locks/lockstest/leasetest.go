package lockstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Run holds an implementation to the laws of locks.Lock. open is called once for each law: it
// returns two doors to one empty store, as two processes have them.
func Run(t *testing.T, open func(t testing.TB) (one, other locks.Store)) {
	for _, l := range []struct {
		name string
		law  func(*world)
	}{
		{"one holder at a time", oneHolder},
		{"the holder acquires again", again},
		{"names are apart", apart},
		{"closing releases, and ends the door", closing},
		{"the record outlives its holders", record},
		{"only the holder reads and writes the record", holderOnly},
		{"a record is the caller's before and after", owned},
		{"bad names and records are refused", refusals},
		{"an ended context does nothing", ended},
		{"both sides name one store", oneStore},
		{"many contend, one holds", contention},
	} {
		t.Run(l.name, func(t *testing.T) {
			one, other := open(t)
			l.law(&world{T: t, one: one, other: other})
		})
	}
}

// world is two doors to one store, and what a law needs of a test.
type world struct {
	*testing.T
	one, other locks.Store
}

func (w *world) door(s locks.Store, name string) locks.Lock {
	w.Helper()
	l, err := s.Lock(name, "owner of "+name)
	if err != nil {
		w.Fatalf("Lease(%q): %v", name, err)
	}
	w.Cleanup(func() { _ = l.Close() })
	return l
}

// acquire fails the test unless Acquire answers want, and Until agrees.
func (w *world) acquire(l locks.Lock, want bool) {
	w.Helper()
	got, err := l.Acquire(context.Background(), func(err error) { w.Errorf("lost: %v", err) })
	if err != nil || got != want {
		w.Fatalf("Acquire: %t, %v; want %t", got, err, want)
	}
	if held := time.Now().Before(l.Until()); held != want {
		w.Fatalf("Until is %v, acquired %t", l.Until(), want)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) loads(l locks.Lock, want []byte) {
	w.Helper()
	got, err := l.Load(context.Background())
	if err != nil || !bytes.Equal(got, want) || (got == nil) != (want == nil) {
		w.Fatalf("Load: %d bytes %.40q, %v; want %d bytes %.40q", len(got), got, err, len(want), want)
	}
}

func oneHolder(w *world) {
	ctx := context.Background()
	a, b, c := w.door(w.one, "x"), w.door(w.other, "x"), w.door(w.one, "x")
	w.acquire(a, true)
	w.acquire(b, false)
	w.acquire(c, false) // of the same process, too
	w.must(b.Release(ctx))
	w.acquire(c, false) // a door that does not hold it releases nothing
	w.must(a.Release(ctx))
	if !a.Until().IsZero() {
		w.Errorf("Until after Release: %v", a.Until())
	}
	w.acquire(b, true)
	w.acquire(a, false)
	w.must(b.Release(ctx))
	w.acquire(c, true)
}

func again(w *world) {
	a, b := w.door(w.one, "x"), w.door(w.other, "x")
	w.acquire(a, true)
	w.acquire(a, true)
	w.acquire(b, false)
	w.must(a.Release(context.Background()))
	w.acquire(b, true) // once is enough
}

func apart(w *world) {
	ctx := context.Background()
	names := []string{
		"x", "X", "x/y", "x.lock", "x y", ".", "..", "../x", "%2F", "ü", strings.Repeat("/", locks.NameMax),
	}
	doors := make([]locks.Lock, len(names))
	for i, name := range names {
		doors[i] = w.door(w.one, name)
		w.acquire(doors[i], true)
		w.loads(doors[i], nil)
		w.must(doors[i].Save(ctx, []byte(name)))
	}
	for i, name := range names {
		l := w.door(w.other, name)
		w.acquire(l, false)
		w.must(doors[i].Release(ctx))
		w.acquire(l, true)
		w.loads(l, []byte(name))
	}
}

func closing(w *world) {
	ctx := context.Background()
	a, b := w.door(w.one, "x"), w.door(w.other, "x")
	w.acquire(a, true)
	w.must(a.Close())
	w.must(a.Close())
	w.acquire(b, true)
	if _, err := a.Acquire(ctx, nil); !errors.Is(err, locks.ErrClosed) {
		w.Errorf("Acquire after Close: %v", err)
	}
	if _, err := a.Load(ctx); !errors.Is(err, locks.ErrClosed) {
		w.Errorf("Load after Close: %v", err)
	}
	if err := a.Save(ctx, nil); !errors.Is(err, locks.ErrClosed) {
		w.Errorf("Save after Close: %v", err)
	}
	if !a.Until().IsZero() {
		w.Errorf("Until after Close: %v", a.Until())
	}
}

func record(w *world) {
	ctx := context.Background()
	a, b := w.door(w.one, "x"), w.door(w.other, "x")
	w.acquire(a, true)
	w.loads(a, nil)
	for _, r := range [][]byte{
		[]byte("first"), []byte("second, longer"), {}, []byte("s"), bytes.Repeat([]byte{7}, locks.RecordMax),
	} {
		w.must(a.Save(ctx, r))
		w.loads(a, r)
		w.must(a.Release(ctx))
		w.acquire(b, true)
		w.loads(b, r)
		a, b = b, a
	}
}

func holderOnly(w *world) {
	ctx := context.Background()
	a, b := w.door(w.one, "x"), w.door(w.other, "x")
	denied := func(l locks.Lock) {
		w.Helper()
		if _, err := l.Load(ctx); !errors.Is(err, locks.ErrNotHeld) {
			w.Errorf("Load by another than the holder: %v", err)
		}
		if err := l.Save(ctx, []byte("wrong")); !errors.Is(err, locks.ErrNotHeld) {
			w.Errorf("Save by another than the holder: %v", err)
		}
	}
	denied(a)
	w.acquire(a, true)
	w.must(a.Save(ctx, []byte("right")))
	denied(b)
	w.must(a.Release(ctx))
	denied(a)
	w.acquire(b, true)
	denied(a)
	w.loads(b, []byte("right"))
}

func owned(w *world) {
	ctx := context.Background()
	a := w.door(w.one, "x")
	w.acquire(a, true)
	mine := []byte("mine")
	w.must(a.Save(ctx, mine))
	mine[0] = 'X'
	got, err := a.Load(ctx)
	w.must(err)
	clear(got)
	w.loads(a, []byte("mine"))
}

func refusals(w *world) {
	for _, name := range []string{"", strings.Repeat("x", locks.NameMax+1), "\xff"} {
		if _, err := w.one.Lock(name, "o"); !errors.Is(err, locks.ErrBadName) {
			w.Errorf("Lease(%.20q): %v", name, err)
		}
	}
	a := w.door(w.one, "x")
	w.acquire(a, true)
	if err := a.Save(context.Background(), make([]byte, locks.RecordMax+1)); !errors.Is(err, locks.ErrTooLarge) {
		w.Errorf("Save of too much: %v", err)
	}
	w.loads(a, nil)
}

func ended(w *world) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a, b := w.door(w.one, "x"), w.door(w.other, "x")
	if ok, err := a.Acquire(ctx, nil); ok || !errors.Is(err, context.Canceled) {
		w.Errorf("Acquire: %t, %v", ok, err)
	}
	w.must(a.Release(context.Background()))
	w.acquire(b, true)
	if err := b.Save(ctx, []byte("x")); !errors.Is(err, context.Canceled) {
		w.Errorf("Save: %v", err)
	}
	w.loads(b, nil)
}

func oneStore(w *world) {
	if w.one.ID() == "" || w.one.ID() != w.other.ID() {
		w.Errorf("one store is %q and %q", w.one.ID(), w.other.ID())
	}
}

// contention: a counter that is only ever touched by the holder, and a record that each holder
// finds as the last one left it.
func contention(w *world) {
	const doors, rounds = 8, 20
	ctx := context.Background()
	var wg sync.WaitGroup
	var mu sync.Mutex
	holders, turns := 0, 0
	for i := range doors {
		s := w.one
		if i%2 == 1 {
			s = w.other
		}
		l := w.door(s, "x")
		wg.Go(func() {
			for range rounds {
				ok, err := l.Acquire(ctx, nil)
				if err != nil {
					w.Errorf("Acquire: %v", err)
				}
				if !ok {
					continue
				}
				mu.Lock()
				holders, turns = holders+1, turns+1
				if holders != 1 {
					w.Errorf("%d holders", holders)
				}
				last := turns - 1
				mu.Unlock()
				got, err := l.Load(ctx)
				if want := fmt.Sprint(last); err != nil || last > 0 && string(got) != want {
					w.Errorf("Load: %q, %v; want %q", got, err, want)
				}
				if err := l.Save(ctx, []byte(fmt.Sprint(last+1))); err != nil {
					w.Errorf("Save: %v", err)
				}
				mu.Lock()
				holders--
				mu.Unlock()
				if err := l.Release(ctx); err != nil {
					w.Errorf("Release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if turns < 2 {
		w.Errorf("%d turns", turns)
	}
}
