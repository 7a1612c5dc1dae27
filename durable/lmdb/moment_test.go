package lmdb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

// A moment shows what a sorted list finds, from any key on and in both directions.
func TestMoment(t *testing.T) {
	e := mustOpen(t, t.TempDir(), Options{})
	tbl := mustTable(t, e, "t")
	momentAgrees(t, e, tbl, nil) // there is no store
	mustCommit(t, mustTable(t, e, "other"), row("a", 5), row("zz", 5))
	momentAgrees(t, e, tbl, nil) // there is one, and no table
	rng := rand.New(rand.NewPCG(3, 4))
	var keys []string
	for len(keys) < 300 {
		key := fmt.Sprint(rng.IntN(10_000))
		if at, found := slices.BinarySearch(keys, key); !found {
			keys = slices.Insert(keys, at, key)
			mustCommit(t, tbl, row(key, 1+rng.IntN(9000)))
		}
		if len(keys)%30 == 1 {
			momentAgrees(t, e, tbl, keys)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Moment(tbl, func(*Moment) error { return nil }); !errors.Is(err, durable.ErrClosed) {
		t.Errorf("a moment of a closed store: %v", err)
	}
}

func momentAgrees(t *testing.T, e *Env, tbl durable.Table, keys []string) {
	t.Helper()
	stop := errors.New("stop")
	err := e.Moment(tbl, func(m *Moment) error {
		for _, from := range append([]string{"0", "5", "50", "77777", "a"}, keys...) {
			at, found := slices.BinarySearch(keys, from)
			value, err := m.Get([]byte(from))
			if err != nil || (value != nil) != found {
				return fmt.Errorf("get %q: %d bytes, %v", from, len(value), err)
			}
			var up, down []string
			err = errors.Join(m.Ascend([]byte(from), gather(&up)), m.Descend([]byte(from), gather(&down)))
			slices.Reverse(down)
			if err != nil || !slices.Equal(up, keys[at:]) || !slices.Equal(down, keys[:at]) {
				return fmt.Errorf("from %q: up %q, down %q of %q, %v", from, up, down, keys, err)
			}
		}
		n := 0
		few := func(durable.Row) (bool, error) { n++; return n < 2, nil }
		if err := m.Ascend([]byte("0"), few); err != nil || n != min(2, len(keys)) {
			return fmt.Errorf("%d rows until it was enough, %v", n, err)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

// gather keeps keys, and writes over what it was given.
func gather(keys *[]string) func(durable.Row) (bool, error) {
	return func(r durable.Row) (bool, error) {
		*keys = append(*keys, string(r.Key))
		clear(r.Key)
		clear(r.Value)
		return true, nil
	}
}
