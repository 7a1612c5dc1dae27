package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// failures gathers what OnFailure hears.
type failures struct {
	mu  sync.Mutex
	all []Failure
	at  []time.Time
}

func (f *failures) hear(x *Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all, f.at = append(f.all, *x), append(f.at, time.Now())
}

func (f *failures) list() []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

// times returns when they came.
func (f *failures) times() []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.at)
}

func first(f *failures) *Failure { return &f.list()[0] }

// bad makes the handler of a diary fail at an event.
func bad(d *diary, seq uint64, fail func(ctx context.Context) error) func(context.Context, Recorded[added]) error {
	return func(ctx context.Context, e Recorded[added]) error {
		if e.Seq == seq {
			if err := fail(ctx); err != nil {
				return err
			}
		}
		return d.handle(ctx, e)
	}
}

// A handler that fails, panics, ends its goroutine or hangs has its part begin again, with pauses that
// grow up to a bound. The failure names the event. Other parts go on. When it succeeds nothing was
// left out, and what was saved before the failure is not handled again.
func TestHandlerFails(t *testing.T) {
	for name, fail := range map[string]func(ctx context.Context) error{
		"error": func(context.Context) error { return errDown },
		"panic": func(context.Context) error { panic(errDown) },
		"hang": func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("%w: %w", errDown, ctx.Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { handlerFails(t, name, fail) })
		})
	}
}

func handlerFails(t *testing.T, name string, fail func(ctx context.Context) error) {
	j, d, fs := newJournal(), newDiary(), &failures{}
	var mended bool
	cfg := settings(j, AtLeastOnce(&Memory{}, bad(d, 3, func(ctx context.Context) error {
		d.mu.Lock()
		ok := mended
		d.mu.Unlock()
		if ok {
			return nil
		}
		return fail(ctx)
	})))
	cfg.OnFailure, cfg.HandleTimeout, cfg.BackoffMin, cfg.BackoffMax = fs.hear, time.Second, time.Second, 4*time.Second
	other := elsewhere(t, cfg, "e1")
	j.add(t, "e1", "e1", "e1", "e1", other, other)
	nodes := newWorkers(t, cfg)
	stop := start(1, nodes)
	defer stop()
	settle(time.Minute)
	if len(fs.list()) < 10 || len(fs.list()) > 40 {
		t.Fatalf("%d failures in a minute", len(fs.list()))
	}
	for i, f := range fs.list() {
		want := Failure{Projection: "sums", Part: f.Part, Doing: "handle event", Type: "sum", Entity: "e1", Seq: 3,
			Name: "added", Version: 1, Tries: i + 1, Err: f.Err}
		if f != want || !errors.Is(f.Err, errDown) {
			t.Fatalf("%+v, want %+v", f, want)
		}
		if _, panicked := errors.AsType[*failure.PanicError](&f); panicked != (name == "panic") {
			t.Errorf("%v", f.Err)
		}
		if timeout := errors.Is(&f, context.DeadlineExceeded); timeout != (name == "hang") {
			t.Errorf("%v", f.Err)
		}
	}
	if text := fs.list()[0].Error(); !strings.Contains(text, `handle event 3 of sum "e1" ("added", version 1), try 1`) {
		t.Error(text)
	}
	at := fs.times()
	first, last := at[1].Sub(at[0]), at[len(at)-1].Sub(at[len(at)-2])
	if first > 2*time.Second || last < 2*time.Second || last > 5*time.Second {
		t.Errorf("the first pause is %v, the last one %v", first, last)
	}
	d.mu.Lock()
	if got := fmt.Sprint(d.seqs["e1"], d.seqs[other]); got != "[1 2] [1 2]" {
		t.Errorf("handled: %s", got)
	}
	mended = true
	d.mu.Unlock()
	settle(time.Minute)
	if err := errors.Join(d.gap(j.ends), d.double()); err != nil {
		t.Error(err)
	}
	for _, s := range nodes.status(time.Now()) {
		if s.Failure != nil || s.Phase != Running {
			t.Errorf("%+v after it is mended", s)
		}
	}
}

// elsewhere returns an entity of another part.
func elsewhere(t testing.TB, cfg Config[added], id string) (other protocol.EntityID) {
	t.Helper()
	cfg = cfg.WithDefaults()
	part := func(id string) int { return persistence.SliceOf(id) * cfg.Parts / persistence.SliceCount }
	for _, n := range names(100) {
		if part(string(n)) != part(id) {
			return n
		}
	}
	t.Fatal("all in one part")
	return ""
}

// An event that is damaged, or does not decode, fails its part. It is left out only if Skip says so, and is counted
// then; the events around it are handled once.
func TestSkip(t *testing.T) {
	for _, kind := range []string{"decode", "handle", "within", "damage"} {
		t.Run(kind, func(t *testing.T) { bubble.Test(t, func(t *testing.T) { skips(t, kind) }) })
	}
}

func skips(t *testing.T, kind string) {
	j, d, fs := newJournal(), newDiary(), &failures{}
	w := &within{diary: d, pause: func() {}}
	var o Offsets = &w.Memory
	cfg := settings(j, AtLeastOnce(o, bad(d, 3, func(context.Context) error {
		if kind == "handle" {
			return errDown
		}
		return nil
	})))
	if kind == "within" {
		cfg.Target = w
	}
	cfg.OnFailure = fs.hear
	cfg.Skip = func(f *Failure) bool { return f.Seq == 3 && f.Tries == 4 }
	j.add(t, "e1", "e1")
	if kind == "handle" {
		j.add(t, "e1")
	} else {
		j.append(t, "e1", persistence.Event{Name: "gone", Version: 7, Body: []byte{1}})
	}
	doing, cause := "decode event", schema.ErrUnknown
	if kind == "damage" {
		doing, cause = "read event", persistence.ErrDamaged
		if err := j.Damage("sum", "e1", 3); err != nil {
			t.Fatal(err)
		}
	}
	j.add(t, "e1", "e1")
	nodes := newWorkers(t, cfg)
	stop := start(1, nodes)
	settle(time.Minute)
	if got := fmt.Sprint(d.of("e1")); got != "[1 2 4 5]" {
		t.Errorf("handled: %s", got)
	}
	if len(fs.list()) != 4 {
		t.Errorf("%d failures, want 4: %v", len(fs.list()), fs.list())
	}
	if f := *first(fs); kind != "handle" && (f.Doing != doing || f.Name != "gone" || f.Version != 7 ||
		f.Entity != "e1" || f.Seq != 3 || !errors.Is(&f, cause)) {
		t.Errorf("%+v", f)
	}
	if n := nodes.figures.skipped.Load(); n != 1 {
		t.Errorf("%d are counted as left out", n)
	}
	stop()
	if n := nodes.figures.skipped.Load(); n != 1 {
		t.Errorf("%d are counted as left out at the end", n)
	}
	handled, skipped := totals(t, o)
	if handled != 4 || skipped != 1 {
		t.Errorf("stored: %d handled, %d left out", handled, skipped)
	}
	stop = start(1, newWorkers(t, cfg))
	settle(time.Minute)
	stop()
	if got := fmt.Sprint(d.of("e1")); got != "[1 2 4 5]" {
		t.Errorf("handled after a restart: %s", got)
	}
}

func totals(t testing.TB, o Offsets) (handled, skipped uint64) {
	t.Helper()
	s, err := o.Look(t.Context(), "sums")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Parts {
		handled, skipped = handled+p.Progress.Handled, skipped+p.Progress.Omitted
	}
	return handled, skipped
}

// A reader and a store that fail are failures without an event, and hold nothing up when they are
// back.
func TestStoresFail(t *testing.T) {
	for _, call := range []string{"Events", "Claim", "Save"} {
		t.Run(call, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				j, d, fs, o := newJournal(), newDiary(), &failures{}, &faulty{}
				cfg := settings(j, AtLeastOnce(o, d.handle))
				cfg.OnFailure, cfg.StoreTimeout = fs.hear, time.Second
				o.fails = call
				j.Before(func(_ context.Context, c string) error {
					if c == "Events" && call == c {
						return errDown
					}
					return nil
				})
				j.add(t, "e1", "e1", "e2")
				stop := start(1, newWorkers(t, cfg))
				settle(time.Minute)
				if len(fs.list()) == 0 || fs.list()[0].Seq != 0 || !errors.Is(first(fs), errDown) {
					t.Errorf("%v", fs.list())
				}
				j.Before(nil)
				o.mend()
				settle(time.Minute)
				stop()
				if err := d.gap(j.ends); err != nil {
					t.Error(err)
				}
				if handled, _ := totals(t, o); handled != 3 {
					t.Errorf("%d are saved", handled)
				}
			})
		})
	}
}

// faulty is a Memory whose calls fail.
type faulty struct {
	Memory
	change sync.Mutex
	fails  string
}

func (f *faulty) fail(call string) error {
	f.change.Lock()
	defer f.change.Unlock()
	if f.fails == call {
		return errDown
	}
	return nil
}

func (f *faulty) mend() {
	f.change.Lock()
	defer f.change.Unlock()
	f.fails = ""
}

func (f *faulty) Claim(ctx context.Context, name string, p Part) (Claim, Progress, error) {
	if err := f.fail("Claim"); err != nil {
		return Claim{}, Progress{}, err
	}
	return f.Memory.Claim(ctx, name, p)
}

func (f *faulty) Save(ctx context.Context, c Claim, at Progress) error {
	if err := f.fail("Save"); err != nil {
		return err
	}
	return f.Memory.Save(ctx, c, at)
}
