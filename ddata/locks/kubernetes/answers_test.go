package kubernetes_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
)

// contest is two doors of one lock at two stores; b takes the writes of the first.
func contest(t *testing.T, ttl int) (b *between, mine, other locks.Lock, server *kubetest.Server) {
	t.Helper()
	server = kubetest.Start(t)
	b = &between{}
	mine = drill.Door(t, open(t, "p", ttl, b.client(server.Client())), "me")
	return b, mine, drill.Door(t, open(t, "p", ttl, server.Client()), "other"), server
}

// The answer of the write that acquires gets lost, of one that creates the object and of one that updates it:
// the owner does not count as the holder, and gets the lease, or gives it back, as if nothing had happened.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	b, mine, other, _ := contest(t, 15)
	drill.LostAnswers(t, mine, other, func(on bool) {
		if b.set(nil); on {
			b.set(loses)
		}
	})
}

// A write that acquires, and reaches the server when its owner has given up, takes no effect: whether it
// would create the object or update it.
func TestLateAcquisition(t *testing.T) {
	t.Parallel()
	b, mine, other, _ := contest(t, 15)
	for range 2 {
		var d delays
		b.set(d.take)
		if ok, err := mine.Acquire(t.Context(), nil); ok || !errors.Is(err, locks.ErrUnusable) {
			t.Fatal(ok, err)
		}
		b.set(nil)
		if err := mine.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.arrive(t)
		drill.Acquire(t, other)
		if err := other.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A release that gives up while its door acquires leaves no hold that is renewed.
func TestReleaseDuringAcquire(t *testing.T) {
	t.Parallel()
	b, mine, other, _ := contest(t, 2)
	released := make(chan error, 1)
	b.set(func(r *http.Request, call func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		answer, err := call(r)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		released <- mine.Release(ctx)
		return answer, err
	})
	ok, err := mine.Acquire(t.Context(), nil)
	b.set(nil)
	if ok || !errors.Is(err, locks.ErrNotHeld) || !mine.Until().IsZero() {
		t.Errorf("acquired %t, %v, until %v", ok, err, mine.Until())
	}
	if err := <-released; !errors.Is(err, context.Canceled) {
		t.Error("released:", err)
	}
	drill.Takes(t, other, mine)
}

// A door that is closed while it acquires leaves nothing behind, and says that it is closed.
func TestCloseDuringAcquire(t *testing.T) {
	t.Parallel()
	b, mine, other, _ := contest(t, 15)
	closed := make(chan error, 1)
	b.set(func(r *http.Request, call func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		b.set(nil) // the release goes through
		answer, err := call(r)
		go func() { closed <- mine.Close() }()
		drill.Eventually(t, "it is closed", func() bool {
			_, err := mine.Load(t.Context())
			return errors.Is(err, locks.ErrClosed)
		})
		return answer, err
	})
	if ok, err := mine.Acquire(t.Context(), nil); ok || !errors.Is(err, locks.ErrClosed) {
		t.Errorf("acquired %t, %v", ok, err)
	}
	if err := <-closed; err != nil {
		t.Error("closed:", err)
	}
	drill.Acquire(t, other)
}

// A save that reaches the server after its holder has released takes no effect, neither before nor after
// another has saved.
func TestLateSave(t *testing.T) {
	t.Parallel()
	for name, saves := range map[string]bool{"before another saves": false, "after that": true} {
		t.Run(name, func(t *testing.T) {
			b, mine, other, _ := contest(t, 15)
			drill.Acquire(t, mine)
			if err := mine.Save(t.Context(), []byte("first")); err != nil {
				t.Fatal(err)
			}
			var d delays
			b.set(d.take)
			if err := mine.Save(t.Context(), []byte("late")); !errors.Is(err, locks.ErrUnusable) {
				t.Fatal(err)
			}
			b.set(nil)
			if err := mine.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := "first"
			if saves {
				want = "new"
				drill.Acquire(t, other)
				if err := other.Save(t.Context(), []byte(want)); err != nil {
					t.Fatal(err)
				}
			}
			d.arrive(t)
			if !saves {
				drill.Acquire(t, other)
			}
			if got, err := other.Load(t.Context()); string(got) != want || err != nil {
				t.Errorf("the record is %q, %v, want %q", got, err, want)
			}
		})
	}
}

// The answer of a save gets lost. The next save and the next load see what it has done, and it takes no effect
// after them.
func TestLostAnswerOfSave(t *testing.T) {
	t.Parallel()
	b, mine, _, _ := contest(t, 15)
	drill.Acquire(t, mine)
	b.set(loses)
	if err := mine.Save(t.Context(), []byte("one")); !errors.Is(err, locks.ErrUnusable) {
		t.Fatal(err)
	}
	b.set(nil)
	if err := mine.Save(t.Context(), []byte("two")); err != nil {
		t.Fatal(err)
	}
	var d delays
	b.set(d.take)
	if err := mine.Save(t.Context(), []byte("late")); !errors.Is(err, locks.ErrUnusable) {
		t.Fatal(err)
	}
	b.set(nil)
	if got, err := mine.Load(t.Context()); string(got) != "two" || err != nil {
		t.Errorf("the record is %q, %v", got, err)
	}
	d.arrive(t)
	if got, err := mine.Load(t.Context()); string(got) != "two" || err != nil {
		t.Errorf("the record is %q, %v", got, err)
	}
}

// The answer of a release gets lost: the next call clears that up.
func TestLostAnswerOfRelease(t *testing.T) {
	t.Parallel()
	b, mine, other, _ := contest(t, 15)
	drill.Acquire(t, mine)
	var d delays
	b.set(d.take)
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
	d.arrive(t)
}

// The answers of renewals get lost, time and again. The holder keeps the lease: it finds its own renewal.
func TestLostAnswersOfRenewals(t *testing.T) {
	t.Parallel()
	b, mine, other, _ := contest(t, 2)
	defer drill.Detect(t, mine, other)()
	lost := drill.Acquire(t, mine)
	calls := 0
	b.set(func(r *http.Request, call func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		if calls++; calls%2 == 1 {
			return loses(r, call)
		}
		return call(r)
	})
	for range 3 {
		drill.Renewed(t, mine, 2e9)
		if ok, err := other.Acquire(t.Context(), nil); ok || err != nil {
			t.Errorf("another acquires: %t, %v", ok, err)
		}
	}
	b.set(nil)
	kept(t, lost)
}
