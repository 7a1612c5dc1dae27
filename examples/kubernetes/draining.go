package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// draining says whether the pod is about to end. Such a pod is not ready, and asks clients to close their
// connections.
//
//	serving ──hook──▶ draining ──SIGTERM──▶ ending
//	    ◀──no SIGTERM────┘
//
// The zero value serves. It is safe for concurrent use.
type draining struct {
	mu     sync.Mutex
	until  time.Time // draining until then; zero before the first hook
	ending bool
}

// sigtermWithin is how soon a kubelet sends SIGTERM after the hook has returned. A hook that none follows was not
// called by a kubelet: the pod serves again.
const sigtermWithin = 10 * time.Second

// begin drains for some time, in which SIGTERM has to come.
func (d *draining) begin(span time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = time.Now().Add(span + sigtermWithin)
}

// end is a task of the shutdown: SIGTERM has come.
func (d *draining) end(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ending = true
	return nil
}

func (d *draining) is() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ending || time.Now().Before(d.until)
}

const drainPath = "/drain"

// hooks answers the preStop hook when those that balance requests know that the pod is not ready.
func (x *service) hooks() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+drainPath, func(_ http.ResponseWriter, r *http.Request) {
		x.draining.begin(x.settings.drain)
		select {
		case <-time.After(x.settings.drain):
		case <-r.Context().Done():
		}
	})
	return mux
}

// podRuns reports whether a pod of these settings runs beside this process.
func (s settings) podRuns(ctx context.Context) bool {
	conn, err := (&net.Dialer{Timeout: requestLimit}).DialContext(ctx, "tcp", s.hook)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}

// preStop is the hook: it runs in a process of its own, beside that of the pod, and has that one drain.
func (s settings) preStop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.drain+requestLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.hook+drainPath, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", r.URL, answer.Status)
	}
	return nil
}
