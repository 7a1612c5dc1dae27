package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console/answers"
	"github.com/coterie-go/coterie/ddata/console/api"
)

// Bounds of what callers can make a console do.
const (
	requestsMax  = 64               // served at one time
	questionsMax = 8                // to other nodes, under way at one time
	bodyMax      = 64 << 10         // bytes of a request
	answerLive   = time.Second      // for which an answer serves all that ask
	serveTimeout = 20 * time.Second // of a request, and of the writing of its answer
)

// handler is the console of a node.
type handler struct {
	cfg     Config
	limit   time.Duration // serveTimeout, or a test's
	station *station
	cache   *answers.Cache[any]
	permits chan struct{} // each is taken by a request that is being served
	origins *http.CrossOriginProtection
}

// Handler is the console of a node. Mount it below a path that ends with a slash; nothing listens
// otherwise. Without Config.Authorize it refuses every request.
func Handler(node *ddata.Node, cfg Config) http.Handler {
	cfg = cfg.WithDefaults()
	s := stationOf(node, cfg)
	return &handler{
		cfg: cfg, limit: serveTimeout, station: s, permits: make(chan struct{}, requestsMax),
		cache:   answers.New[any](answerLive, questionsMax, s.host.Scheduler.Now),
		origins: http.NewCrossOriginProtection(),
	}
}

// headers are those of every answer.
var headers = map[string]string{
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
		"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// ServeHTTP implements http.Handler.
func (c *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers { // order: a header is a map, too
		w.Header().Set(name, value)
	}
	deadline := c.station.host.Scheduler.Now().Add(c.limit)
	rc := http.NewResponseController(w) // what it cannot set, a test's recorder has no use for
	_, _ = rc.SetReadDeadline(deadline), rc.SetWriteDeadline(deadline)
	select {
	case c.permits <- struct{}{}:
		defer func() { <-c.permits }()
	default:
		fail(w, fmt.Errorf("%w: %d requests are being served", answers.ErrBusy, requestsMax))
		return
	}
	caller, err := c.authorize(r)
	if err != nil {
		if c.below(r) == pathActions && r.Method == http.MethodPost {
			c.station.refused(&c.station.strangers, api.Action{}, caller.by(r), fmt.Errorf("%w: %w", errStranger, err))
		}
		refuse(w, err)
		return
	}
	w.Header().Set(api.AccessHeader, caller.Access.String())
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	c.serve(w, r.WithContext(ctx), caller)
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	status := statusOf(err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if allowed, ok := errors.AsType[wrongMethod](err); ok {
		w.Header().Set("Allow", string(allowed))
	}
	write(w, status, api.Error{Code: codeOf(err), Text: err.Error()})
}

// write answers in JSON. The server leaves the body of the answer to a HEAD out. A browser that does not read is cut
// off by the deadline.
func write(w http.ResponseWriter, status int, x any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(x)
}
