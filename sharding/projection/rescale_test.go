package projection

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// early saves the offset before the handler runs: a planted mistake.
type early struct{ *within }

func (e early) Handle(ctx context.Context, c Claim, b *Batch[added]) (Outcome, error) {
	if err := e.Save(ctx, c, b.After); err != nil {
		return Outcome{}, err
	}
	_, err := b.Each(ctx, func(ctx context.Context, r Recorded[added]) error {
		e.pause()
		e.diary.note(r)
		return ctx.Err()
	})
	return Outcome{Handled: len(b.Events), Saved: true}, err
}

// unfenced lets every claim save: a planted mistake.
type unfenced struct{ *within }

func (u unfenced) Save(_ context.Context, c Claim, at Progress) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all[c.Projection].Parts[c.Part].Progress = at
	return nil
}

func (u unfenced) Handle(ctx context.Context, c Claim, b *Batch[added]) (Outcome, error) {
	var written []Recorded[added]
	_, err := b.Each(ctx, func(_ context.Context, e Recorded[added]) error {
		u.pause()
		written = append(written, e)
		return nil
	})
	if err != nil {
		return Outcome{}, err
	}
	_ = u.Save(ctx, c, b.After)
	u.diary.note(written...)
	return Outcome{Handled: len(b.Events), Saved: true}, nil
}

// rescales runs a world: events come all the time, the number of workers changes, they move, and some
// workers of a revision go on beside the next one, as those of a paused node do. It returns what was
// wrong.
func rescales(t *testing.T, seed uint64, target func(w *within) Target[added]) (gap, double error) {
	r := rand.New(rand.NewPCG(seed, 1))
	j, w := newJournal(), &within{diary: newDiary()}
	w.pause = nap(rand.New(rand.NewPCG(seed, 2)))
	cfg := settings(j, target(w))
	cfg.Parts, cfg.BatchMax, cfg.SaveEvery, cfg.BackoffMin = 8, 5, 7, time.Millisecond
	cfg.BackoffMax, cfg.SaveInterval = 50*time.Millisecond, 20*time.Millisecond
	ids := names(20)
	var zombies []func()
	for range 12 {
		stop := start(1+r.IntN(8), newWorkers(t, cfg), newWorkers(t, cfg))
		for range 10 {
			for range 1 + r.IntN(20) {
				j.add(t, ids[r.IntN(len(ids))])
			}
			settle(time.Duration(r.IntN(10)) * time.Millisecond)
		}
		if r.IntN(3) == 0 {
			zombies = append(zombies, stop)
		} else {
			stop()
		}
		for len(zombies) > 0 && r.IntN(2) == 0 {
			zombies[0]()
			zombies = zombies[1:]
		}
	}
	for _, stop := range zombies {
		stop()
	}
	stop := start(3, newWorkers(t, cfg))
	settle(10 * time.Second)
	stop()
	return w.diary.gap(j.ends), w.diary.double()
}

const seeds = 15

// Whatever the workers do, a target with transactions has each event take effect once, in order.
func TestRescaleOnce(t *testing.T) {
	for seed := range uint64(seeds) {
		bubble.Test(t, func(t *testing.T) {
			gap, double := rescales(t, seed, func(w *within) Target[added] { return w })
			if gap != nil || double != nil {
				t.Errorf("seed %d: %v, %v", seed, gap, double)
			}
		})
	}
}

// With AtLeastOnce no event is left out.
func TestRescaleAtLeastOnce(t *testing.T) {
	doubles := 0
	for seed := range uint64(seeds) {
		bubble.Test(t, func(t *testing.T) {
			gap, double := rescales(t, seed, func(w *within) Target[added] {
				return AtLeastOnce(&w.Memory, func(ctx context.Context, e Recorded[added]) error {
					w.pause()
					return w.diary.handle(ctx, e)
				})
			})
			if gap != nil {
				t.Errorf("seed %d: %v", seed, gap)
			}
			if double != nil {
				doubles++
			}
		})
	}
	if doubles == 0 {
		t.Error("no event was handled twice: the test does not interrupt anything")
	}
}

// The planted mistakes are found.
func TestRescaleMistakes(t *testing.T) {
	gaps, doubles := 0, 0
	for seed := range uint64(seeds) {
		bubble.Test(t, func(t *testing.T) {
			if gap, _ := rescales(t, seed, func(w *within) Target[added] { return early{w} }); gap != nil {
				gaps++
			}
		})
		bubble.Test(t, func(t *testing.T) {
			if _, double := rescales(t, seed, func(w *within) Target[added] { return unfenced{w} }); double != nil {
				doubles++
			}
		})
	}
	if gaps == 0 {
		t.Error("an offset that is saved before the handler leaves no gap")
	}
	if doubles == 0 {
		t.Error("a fence that is left out leaves no double")
	}
	t.Logf("of %d worlds, %d with gaps, %d with doubles", seeds, gaps, doubles)
}

// Events of one entity are handled one at a time, in order, and those of different parts side by side.
func TestOrder(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, d := newJournal(), newDiary()
		ids := names(64)
		busy := map[protocol.EntityID]bool{}
		most, now := 0, 0
		var o Memory
		cfg := settings(j, AtLeastOnce(&o, func(ctx context.Context, e Recorded[added]) error {
			d.mu.Lock()
			if busy[e.Entity] {
				t.Errorf("two handlers of %v", e.Entity)
			}
			busy[e.Entity] = true
			now++
			most = max(most, now)
			d.mu.Unlock()
			sleep(ctx, time.Millisecond)
			d.mu.Lock()
			busy[e.Entity] = false
			now--
			d.mu.Unlock()
			return d.handle(ctx, e)
		}))
		for range 5 {
			j.add(t, ids...)
		}
		stop := start(2, newWorkers(t, cfg))
		settle(time.Minute)
		stop()
		if err := d.gap(j.ends); err != nil {
			t.Error(err)
		}
		if err := d.double(); err != nil {
			t.Error(err)
		}
		if most != 16 {
			t.Errorf("%d handlers at one time, want one of each of 16 parts", most)
		}
		s, err := o.Look(t.Context(), "sums")
		var handled uint64
		for _, p := range s.Parts {
			handled += p.Progress.Handled
		}
		if handled != 5*64 || err != nil {
			t.Error(fmt.Sprint(s), err)
		}
	})
}
