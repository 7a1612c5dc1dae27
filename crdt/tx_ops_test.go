package crdt

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// txWorld compares transactions, while they run, with a map of paths to payloads.
type txWorld struct {
	rng   *rand.Rand
	rep   *Replica
	paths int
	want  map[string]string
	kept  []keptReader
}

// keptReader is a reader, of a transaction or of the store, and what it must always show.
type keptReader struct {
	r    Reader
	want map[string]string
}

var errGivenUp = errors.New("given up")

// TestTxAgainstAMap runs transactions that write, read between the writes, hand out readers and
// often fail, over keys small and large.
func TestTxAgainstAMap(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 4))
		w := &txWorld{
			rng: rng, rep: NewReplica(1, StoreOptions{DigestSeed: seed}), paths: []int{3, 40, 400}[seed%3],
			want: map[string]string{},
		}
		for i := range 60 {
			if err := w.update(); err != nil {
				t.Fatalf("seed %d, update %d: %v", seed, i, err)
			}
		}
		for _, k := range w.kept {
			if err := sameItems(k.r, k.want); err != nil {
				t.Fatalf("seed %d: a kept reader: %v", seed, err)
			}
		}
	}
}

func (w *txWorld) update() error {
	if w.rng.IntN(3) == 0 {
		w.kept = append(w.kept, keptReader{w.rep.Store().View("k"), maps.Clone(w.want)})
	}
	fails, before := w.rng.IntN(3) == 0, w.rep.Store().Digest()
	now := maps.Clone(w.want)
	_, err := w.rep.Update("k", 0, func(tx *Tx) error {
		for range 1 + w.rng.IntN(30) {
			if err := w.mutate(tx, now); err != nil {
				return err
			}
		}
		if fails {
			return errGivenUp
		}
		return nil
	}, nil)
	switch {
	case fails && !errors.Is(err, errGivenUp), !fails && err != nil:
		return err
	case fails && w.rep.Store().Digest() != before:
		return errors.New("a failed update left a trace")
	case !fails:
		w.want = now
	}
	if err := w.rep.Store().Check(); err != nil {
		return err
	}
	return sameItems(w.rep.Store().View("k"), w.want)
}

// mutate writes once and, now and then, reads.
func (w *txWorld) mutate(tx *Tx, now map[string]string) error {
	path := fmt.Sprintf("%c%d", 'a'+w.rng.IntN(2), w.rng.IntN(w.paths))
	switch w.rng.IntN(9) {
	case 0:
		n, err := tx.RemoveAll(path[:1])
		before := len(now)
		maps.DeleteFunc(now, func(p, _ string) bool { return p[0] == path[0] })
		if err != nil || n != before-len(now) {
			return fmt.Errorf("removed %d of %d: %w", n, before-len(now), err)
		}
	case 1, 2:
		if was, err := tx.Remove(path); err != nil || was != hasKey(now, path) {
			return fmt.Errorf("removed %q: %v, %w", path, was, err)
		}
		delete(now, path)
	case 3:
		w.kept = append(w.kept, keptReader{tx.Reader(), maps.Clone(now)})
	case 4:
		return sameItems(tx.Reader(), now)
	case 5:
		if tx.Has(path) != hasKey(now, path) || len(tx.At(path)) > 1 {
			return fmt.Errorf("has %q: %v", path, tx.At(path))
		}
	default:
		now[path] = fmt.Sprint(w.rng.IntN(100))
		return tx.Replace(path, now[path])
	}
	return nil
}

func hasKey(m map[string]string, k string) bool { _, ok := m[k]; return ok }

// sameItems compares all that a reader says of a key without siblings.
func sameItems(r Reader, want map[string]string) error {
	var paths []string
	for it := range r.Items("") {
		paths = append(paths, it.Path)
		if at := r.At(it.Path); want[it.Path] != it.Payload || len(at) != 1 || at[0] != it {
			return fmt.Errorf("%v, at its path %v, must be %q", it, at, want[it.Path])
		}
	}
	if !slices.Equal(paths, slices.Sorted(maps.Keys(want))) || r.Paths() != len(want) || r.Len() != len(want) ||
		r.Empty() != (len(want) == 0) {
		return fmt.Errorf("%d paths, counts %d, %d items, must be %d", len(paths), r.Paths(), r.Len(), len(want))
	}
	if ks := r.ks.more; ks != nil && ks.big != nil {
		return errors.Join(bigOf(ks).firsts.Check(), bigOf(ks).rest.Check())
	}
	return nil
}
