package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// nodes starts a cluster of real nodes on loopback.
func nodes(t testing.TB, n int) []*ddata.Node {
	t.Helper()
	addrs := make([]string, n)
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs[i] = l.Addr().String()
		_ = l.Close()
	}
	out := make([]*ddata.Node, n)
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			node, err := ddata.Start(within(t, 60*time.Second), ddata.Config{
				Name: "test", Bind: addrs[i], Seeds: addrs, BootstrapExpect: n, Roles: []string{"backend"}, Preset: ddata.Local,
				Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Error(err)
				return
			}
			out[i] = node
			t.Cleanup(func() { _ = node.Close() })
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out
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
