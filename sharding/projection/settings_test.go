package projection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/persistence"
)

func TestConfigFaults(t *testing.T) {
	err := Config[added]{
		Name: "a/b", Tag: strings.Repeat("x", 256), Parts: 1025, Workers: 2000, BatchMax: -1, BatchBytes: -1,
		StoreTimeout: -1, SaveEvery: -1, SaveInterval: -1, LookInterval: -1, BackoffMin: 2, BackoffMax: 1,
	}.Validate()
	if !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	for _, setting := range []string{
		"Name", "Role", "Type", "Tag", "Reader", "Events", "Target", "Parts", "Workers", "BatchMax", "BatchBytes",
		"StoreTimeout", "SaveEvery", "SaveInterval", "LookInterval", "BackoffMax",
	} {
		if !strings.Contains(err.Error(), ": "+setting) {
			t.Errorf("no word of %s: %v", setting, err)
		}
	}
	empty := settings(newJournal(), AtLeastOnce[added](nil, nil))
	empty.BackoffMin = -1
	err = empty.Validate()
	for _, fault := range []string{"Offsets of AtLeastOnce", "function of AtLeastOnce", "BackoffMin"} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("no word of %s: %v", fault, err)
		}
	}
	if err := settings(newJournal(), AtLeastOnce(&Memory{}, newDiary().handle)).Validate(); err != nil {
		t.Error(err)
	}
}

// sizes is a target that notes the sizes of its batches, and takes some time for each.
type sizes struct {
	*within
	all []int
}

func (s *sizes) Handle(ctx context.Context, c Claim, b *Batch[added]) (Outcome, error) {
	s.all = append(s.all, len(b.Events))
	return s.within.Handle(ctx, c, b)
}

// A batch has at most BatchMax events. What was read during one is the next.
func TestBatchMax(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, s := newJournal(), &sizes{within: &within{diary: newDiary()}}
		s.pause = func() { sleep(context.Background(), time.Millisecond) }
		cfg := settings(j, s)
		cfg.BatchMax, cfg.Parts = 7, 1
		for range 30 {
			j.add(t, "e1")
		}
		stop := start(1, newWorkers(t, cfg))
		settle(time.Minute)
		stop()
		most, sum := 0, 0
		for _, n := range s.all {
			most, sum = max(most, n), sum+n
		}
		if most != 7 || sum != 30 {
			t.Errorf("batches of %v", s.all)
		}
		if err := errors.Join(s.diary.gap(j.ends), s.diary.double()); err != nil {
			t.Error(err)
		}
	})
}

// After a failure within a batch the events before it are committed, and the event is tried alone.
func TestFailureWithinBatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, s := newJournal(), &sizes{within: &within{diary: newDiary()}}
		n := 0
		s.pause = func() {
			if n++; n == 6 || n == 12 || n == 13 { // the sixth event, three times
				panic("the sixth")
			}
		}
		cfg := settings(j, s)
		cfg.Parts = 1
		for range 10 {
			j.add(t, "e1")
		}
		stop := start(1, newWorkers(t, cfg))
		settle(time.Minute)
		stop()
		if got := fmt.Sprint(s.all); got != "[10 5 5 1 1 4]" && got != "[10 5 5 1 5]" {
			t.Errorf("batches of %v", got)
		}
		if err := errors.Join(s.diary.gap(j.ends), s.diary.double()); err != nil {
			t.Error(err)
		}
	})
}

// The events that are read ahead have BatchBytes at most. A larger one is read alone.
func TestBatchBytes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j := newJournal()
		cfg := settings(j, AtLeastOnce(&Memory{}, newDiary().handle)).WithDefaults()
		cfg.BatchBytes, cfg.Parts = 1000, 1
		for i := range 20 {
			size := 300
			if i == 10 {
				size = 5000
			}
			j.append(t, "e1", persistence.Event{Name: "large", Version: 1, Body: make([]byte, size)})
		}
		j.add(t, "e1")
		q := newQueue[added](cfg.BatchMax, cfg.BatchBytes)
		l := newLane(&cfg, &figures{}, 0)
		ctx, cancel := context.WithCancel(t.Context())
		go l.read(ctx, q, "")
		var got []int
		for sum := 0; sum < 21; {
			synctest.Wait()
			entries, err := q.take(ctx, 100, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			sum += len(entries)
			got = append(got, len(entries))
		}
		if text := fmt.Sprint(got); text != "[3 3 3 1 1 3 3 4]" {
			t.Errorf("taken: %s", text)
		}
		cancel()
		synctest.Wait()
		if _, err := q.take(t.Context(), 100, time.Time{}); err == nil {
			t.Error("no end when the reader has ended")
		}
	})
}

// The offset is saved after SaveEvery events, or SaveInterval after the first one.
func TestSave(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, d, o := newJournal(), newDiary(), &Memory{}
		cfg := settings(j, AtLeastOnce(o, d.handle))
		cfg.Parts, cfg.SaveEvery, cfg.SaveInterval = 1, 3, 10*time.Second
		w := newWorkers(t, cfg)
		stop := start(1, w)
		saved := func(want uint64, saves int64) {
			t.Helper()
			if n, _ := totals(t, o); n != want || w.figures.saves.Load() != saves {
				t.Errorf("%d saved in %d calls, want %d in %d", n, w.figures.saves.Load(), want, saves)
			}
		}
		for range 2 {
			j.add(t, "e1")
			settle(4 * time.Second)
		}
		saved(0, 0)
		settle(3 * time.Second)
		saved(2, 1)
		for range 3 {
			j.add(t, "e1")
			settle(time.Millisecond)
		}
		saved(5, 2)
		j.add(t, "e1")
		settle(time.Millisecond)
		saved(5, 2)
		stop() // what is unsaved is saved at the end
		saved(6, 3)
		if err := errors.Join(d.gap(j.ends), d.double()); err != nil {
			t.Error(err)
		}
	})
}

// slow is a Memory whose calls wait for their context.
type slow struct{ Memory }

func (s *slow) Claim(ctx context.Context, _ string, _ Part) (Claim, Progress, error) {
	<-ctx.Done()
	return Claim{}, Progress{}, ctx.Err()
}

func TestStoreTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		fs := &failures{}
		cfg := settings(newJournal(), AtLeastOnce(&slow{}, newDiary().handle))
		cfg.Parts, cfg.StoreTimeout, cfg.OnFailure = 1, 7*time.Second, fs.hear
		stop := start(1, newWorkers(t, cfg))
		defer stop()
		settle(6 * time.Second)
		if len(fs.list()) != 0 {
			t.Errorf("given up too early: %v", fs.list())
		}
		settle(2 * time.Second)
		if len(fs.list()) != 1 || !errors.Is(first(fs), context.DeadlineExceeded) {
			t.Errorf("given up: %v", fs.list())
		}
	})
}

// Only events with the tag are handled.
func TestTag(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, d := newJournal(), newDiary()
		cfg := settings(j, AtLeastOnce(&Memory{}, func(ctx context.Context, e Recorded[added]) error {
			if fmt.Sprint(e.Tags) != "[blue]" {
				t.Errorf("tags %v", e.Tags)
			}
			return d.handle(ctx, e)
		}))
		cfg.Tag = "blue"
		body, err := addedEvents().Encode(added{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			e := persistence.Event{Name: body.Name, Version: body.Version, Body: body.Body}
			if i%2 == 1 {
				e.Tags = []string{"blue"}
			}
			j.append(t, "e1", e)
		}
		stop := start(1, newWorkers(t, cfg))
		settle(time.Minute)
		stop()
		if got := fmt.Sprint(d.of("e1")); got != "[2 4]" {
			t.Error(got)
		}
	})
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A handler that does not heed its context is waited for, and is told of: in the log and in Status.
func TestHandlerHangs(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		j, d, release := newJournal(), newDiary(), make(chan struct{})
		var log lines
		cfg := settings(j, AtLeastOnce(&Memory{}, bad(d, 1, func(context.Context) error {
			<-release
			return nil
		})))
		cfg.Parts, cfg.HandleTimeout = 1, 3*time.Second
		w := newWorkers(t, cfg)
		w.figures.log = slog.New(slog.NewTextHandler(&log, nil))
		j.add(t, "e1", "e1")
		stop := start(1, w)
		settle(2 * time.Second)
		if log.String() != "" {
			t.Errorf("too early: %s", &log)
		}
		settle(3 * time.Second)
		if !strings.Contains(log.String(), "has not returned in time") || !strings.Contains(log.String(), "seq=1") {
			t.Errorf("the log: %s", &log)
		}
		if s := w.status(time.Now())[0]; s.Handling < 5*time.Second || s.Lag < 5*time.Second {
			t.Errorf("%+v", s)
		}
		if d.calls.Load() != 0 {
			t.Error("the next event was handled beside it")
		}
		close(release)
		settle(time.Second)
		stop()
		if err := d.gap(j.ends); err != nil {
			t.Error(err)
		}
	})
}
