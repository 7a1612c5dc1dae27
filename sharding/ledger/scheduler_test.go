package ledger

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/routine"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// On a scheduler of one flow of control a write waits for an earlier one without holding up what
// runs beside it, and events have the time of that scheduler.
func TestOnAScheduler(t *testing.T) {
	w := routine.NewWorld(1)
	defer w.End()
	p, m := w.NewProcess(), &memory.Store{}
	l := open(t, Config{Journal: m}).On(p)
	by := termOf(5, 1)
	slow, story := make(chan struct{}), []string(nil)
	m.Before(func(_ context.Context, call string) error {
		if call == "Append" {
			p.Await(slow, nil, nil)
		}
		return nil
	})
	for i, name := range []string{"first", "second"} {
		p.Enter(func() {
			if err := put(t, l, by, entry(1, 11, 1, uint64(i)+1)); err != nil {
				t.Error(err)
			}
			story = append(story, name)
		})
	}
	p.AfterFunc(time.Second, func() {
		story = append(story, "beside")
		close(slow)
	})
	begun := w.Now()
	for w.Step() {
	}
	if want := []string{"beside", "first", "second"}; !slices.Equal(story, want) {
		t.Errorf("got %q, want %q", story, want)
	}
	_, err := m.Load(t.Context(), persistence.Hosting{Type: TypeName("T"), Token: by},
		[]persistence.Read{{Entity: "homes"}}, func(_ int, e persistence.Event) error {
			if e.At.Sub(begun).Abs() > time.Minute {
				t.Errorf("event %d is of %v, and was written after %v", e.Seq, e.At, begun)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Write(cancelled, protocol.StateWrite{Kind: protocol.StateHomes, By: by}); err == nil {
		t.Error("a write whose context has ended is made")
	}
}
