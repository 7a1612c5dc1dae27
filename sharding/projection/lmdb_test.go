package projection

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/lmdb"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Events of a directory are carried, from the past and as they come. After a stop the directory is
// opened again, and another number of workers goes on where the first ones were.
func TestDirectory(t *testing.T) {
	dir, d, o := t.TempDir(), newDiary(), &Memory{}
	ends := map[protocol.EntityID]uint64{}
	h := persistence.Hosting{Type: "sum", Token: singleton.FencingToken{Era: 1, Epoch: 1, Up: 1, Seq: 1}}
	for _, workers := range []int{3, 1, 8} {
		store, err := lmdb.Open(dir, lmdb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		add := func() {
			body, err := addedEvents().Encode(added{1})
			if err != nil {
				t.Fatal(err)
			}
			var writes []persistence.Write
			for _, id := range names(40) {
				e := persistence.Event{Seq: ends[id] + 1, Name: body.Name, Version: body.Version, Body: body.Body}
				e.At = time.Now()
				w := persistence.Write{Entity: id, After: ends[id], ID: e.Seq, Events: []persistence.Event{e}}
				writes = append(writes, w)
				ends[id]++
			}
			if refused, err := store.Append(context.Background(), h, writes); err != nil || len(refused) > 0 {
				t.Fatal(refused, err)
			}
		}
		add()
		cfg := settings(nil, AtLeastOnce(o, d.handle))
		cfg.Reader = store
		stop := start(workers, newWorkers(t, cfg))
		for range 3 {
			add()
			until(t, "all are handled", func() bool { return d.gap(ends) == nil })
		}
		stop()
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.gap(ends), d.double()); err != nil {
		t.Error(err)
	}
	if handled, _ := totals(t, o); handled != 3*4*40 {
		t.Errorf("%d are saved", handled)
	}
}
