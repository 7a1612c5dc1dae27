package daemon

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// watch is what runs where.
type watch struct {
	mu    sync.Mutex
	now   map[Worker]int // by worker: the node, from 1
	wrong []string
	news  chan struct{} // closed and replaced with every change
}

func newWatch() *watch { return &watch{now: map[Worker]int{}, news: make(chan struct{})} }

func (w *watch) change(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
	close(w.news)
	w.news = make(chan struct{})
}

// run is a worker that runs until it shall not.
func (w *watch) run(node int) func(context.Context, Worker) error {
	return func(ctx context.Context, x Worker) error {
		w.change(func() {
			if on := w.now[x]; on != 0 {
				w.wrong = append(w.wrong, fmt.Sprintf("%v runs on %d and on %d", x, on, node))
			}
			for y := range w.now { // order: they are only looked at
				if y.Revision != x.Revision {
					w.wrong = append(w.wrong, fmt.Sprintf("%v runs beside %v", x, y))
				}
			}
			w.now[x] = node
		})
		<-ctx.Done()
		w.change(func() { delete(w.now, x) })
		return nil
	}
}

// until waits until ok says so of what runs.
func (w *watch) until(t *testing.T, ctx context.Context, ok func(now map[Worker]int) bool) {
	t.Helper()
	for {
		w.mu.Lock()
		done, news := ok(w.now), w.news
		state := fmt.Sprint(w.now)
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("in vain; %s runs", state)
		}
	}
}
