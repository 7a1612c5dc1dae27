package events

import (
	"fmt"
	"net/http"
	"strings"
)

// Health is how a node is, for a supervisor that restarts it or sends it requests.
type Health struct {
	// Live: the node goes on by itself. Else the process should be started again.
	Live bool
	// Ready: the node is Up, holds its lease, and has its data; requests may be sent to it.
	Ready bool
	// Reasons say what is wrong, and what the operator should do if anything must be done. Empty
	// when Live and Ready.
	Reasons []string
}

// String prints it in one line.
func (h Health) String() string {
	s := fmt.Sprintf("live=%t ready=%t", h.Live, h.Ready)
	if len(h.Reasons) > 0 {
		s += ": " + strings.Join(h.Reasons, "; ")
	}
	return s
}

// HealthHandler answers /livez and /readyz, as the probes of Kubernetes ask: 200 or 503, with the
// health in a line of text.
func HealthHandler(health func() Health) http.Handler {
	mux := http.NewServeMux()
	probe := func(ok func(Health) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			h := health()
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			if !ok(h) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = fmt.Fprintln(w, h)
		}
	}
	mux.Handle("/livez", probe(func(h Health) bool { return h.Live }))
	mux.Handle("/readyz", probe(func(h Health) bool { return h.Ready }))
	return mux
}
