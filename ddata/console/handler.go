package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/console/answers"
	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
)

// Bounds of what callers can make a console do.
const (
	requestsMax  = 64               // served at one time
	questionsMax = 8                // to other nodes, under way at one time
	bodyMax      = 64 << 10         // bytes of a request
	answerLive   = time.Second      // for which an answer serves all that ask
	serveTimeout = 20 * time.Second // of a request, and of the writing of its answer
)

// console is the Handler of a node.
type console struct {
	cfg     Config
	limit   time.Duration // serveTimeout, or a test's
	station *station
	cache   *answers.Cache[any]
	places  chan struct{} // one for each request that is being served
	origins *http.CrossOriginProtection
}

// Handler is the console of a node. Mount it below a path that ends with a slash; nothing listens
// otherwise. Without Config.Authorize it refuses every request.
func Handler(node *ddata.Node, cfg Config) http.Handler {
	cfg = cfg.withDefaults()
	s := stationOf(node, cfg)
	return &console{
		cfg: cfg, limit: serveTimeout, station: s, places: make(chan struct{}, requestsMax),
		cache:   answers.New[any](answerLive, questionsMax, s.host.Scheduler.Now),
		origins: http.NewCrossOriginProtection(),
	}
}

// keyCluster is the key of what all nodes say.
const keyCluster = "cluster"

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
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers { // order: a header is a map, too
		w.Header().Set(name, value)
	}
	deadline := c.station.host.Scheduler.Now().Add(c.limit)
	rc := http.NewResponseController(w) // what it cannot set, a test's recorder has no use for
	_, _ = rc.SetReadDeadline(deadline), rc.SetWriteDeadline(deadline)
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	default:
		fail(w, fmt.Errorf("%w: %d requests are being served", answers.ErrBusy, requestsMax))
		return
	}
	access, err := c.authorize(r)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set(api.AccessHeader, access.String())
	ctx, cancel := context.WithDeadline(r.Context(), deadline)
	defer cancel()
	c.serve(w, r.WithContext(ctx), access)
}

// authorize says what a caller may do: something, if there is no error.
func (c *console) authorize(r *http.Request) (Access, error) {
	if c.cfg.Authorize == nil {
		return None, fmt.Errorf("%w: this console lets none in: set Config.Authorize of package console to say "+
			"which callers may look and act; console.Tokens is one", errRefused)
	}
	access, err := c.cfg.Authorize(r)
	if challenge, ok := errors.AsType[Challenge](err); ok {
		return None, challenge
	}
	if err != nil || access == None {
		return None, fmt.Errorf("%w: not allowed", errRefused)
	}
	return access, nil
}

// refuse answers a stranger.
func refuse(w http.ResponseWriter, err error) {
	if challenge, ok := errors.AsType[Challenge](err); ok {
		w.Header().Set("WWW-Authenticate", string(challenge))
		write(w, http.StatusUnauthorized, api.Error{Code: api.CodeRefused, Text: "authenticate first"})
		return
	}
	fail(w, err)
}

// serve answers a caller that may look.
func (c *console) serve(w http.ResponseWriter, r *http.Request, access Access) {
	path := c.below(r)
	if f, ok := files[path]; ok && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		w.Header().Set("Content-Type", f.mime)
		_, _ = w.Write(f.body)
		return
	}
	var x any
	var err error
	switch path {
	case "api/v1/cluster", "api/v1/node", "api/v1/shards", "api/v1/entity", "api/v1/events", "api/v1/metrics",
		"api/v1":
		if r.Method != http.MethodGet {
			err = fmt.Errorf("%w: this path takes GET", section.ErrBad)
			break
		}
		x, err = c.look(r.Context(), path, r.URL.Query())
	case "api/v1/actions":
		x, err = c.post(r, access)
	default:
		err = errNoPath
	}
	if err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, x)
}

// below is the path of a request below the console's.
func (c *console) below(r *http.Request) string {
	mount := c.cfg.Path
	if mount == "" {
		mount = mountOf(r.Pattern)
	}
	return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, mount), "/")
}

// mountOf is the path of a pattern of http.ServeMux.
func mountOf(pattern string) string {
	if i := strings.IndexByte(pattern, '/'); i >= 0 {
		return pattern[i:]
	}
	return "/"
}

// look answers a question. What a caller asks for is bounded before anything is asked of others.
func (c *console) look(ctx context.Context, path string, q url.Values) (any, error) {
	p := parameters{values: q}
	key, ask := path, func(context.Context) (any, error) { return api.Paths, nil }
	switch path {
	case "api/v1/cluster":
		key, ask = keyCluster, func(ctx context.Context) (any, error) { return c.cluster(ctx) }
	case "api/v1/node":
		ask = func(ctx context.Context) (any, error) {
			return askOf[api.Node](ctx, c.station, c.station.node.UID(), c.cfg.NodeTimeout, query{Ask: askNode})
		}
	case "api/v1/shards":
		typ, from, limit := p.text("type"), p.number("from", 0, maxShard), p.number("limit", 200, api.PageMax)
		key = fmt.Sprintf("shards %d %d %s", from, limit, typ)
		ask = func(ctx context.Context) (any, error) { return c.shards(ctx, typ, from, limit) }
	case "api/v1/entity":
		typ, id := p.text("type"), p.text("id")
		key = fmt.Sprintf("entity %d %s %s", len(typ), typ, id)
		ask = func(ctx context.Context) (any, error) { return c.entity(ctx, typ, id) }
	case "api/v1/metrics":
		ask = func(ctx context.Context) (any, error) { return c.metrics(ctx) }
	case "api/v1/events":
		limit := p.number("limit", 200, api.EventsMax)
		key = fmt.Sprintf("events %d", limit)
		ask = func(ctx context.Context) (any, error) { return c.events(ctx, limit) }
	}
	if p.err != nil {
		return nil, p.err
	}
	return c.cache.Get(ctx, key, ask)
}

// maxShard is above every number of a shard.
const maxShard = 1 << 21

// parameters reads those of a request. The first fault stays.
type parameters struct {
	values url.Values
	err    error
}

// text is a parameter that must be there, and is no longer than an id may be.
func (p *parameters) text(name string) string {
	s := p.values.Get(name)
	if p.err == nil && (s == "" || len(s) > api.IDMax) {
		p.err = fmt.Errorf("%w: parameter %q has %d bytes, want 1 to %d", section.ErrBad, name, len(s), api.IDMax)
	}
	return s
}

// number is a parameter from 0 to most, or otherwise if it is missing.
func (p *parameters) number(name string, otherwise, most int) int {
	s := p.values.Get(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if p.err == nil && (err != nil || n < 0 || n > most) {
		p.err = fmt.Errorf("%w: parameter %q is no number from 0 to %d", section.ErrBad, name, most)
	}
	return n
}

// post takes an action.
func (c *console) post(r *http.Request, access Access) (any, error) {
	switch mime, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); {
	case r.Method != http.MethodPost:
		return nil, fmt.Errorf("%w: this path takes POST", section.ErrBad)
	case r.Header.Get(api.Header) == "":
		return nil, fmt.Errorf("%w: the header %s is missing", errForgeable, api.Header)
	case strings.TrimSpace(mime) != "application/json":
		return nil, fmt.Errorf("%w: the content type must be application/json", errForgeable)
	case access < Operate:
		return nil, fmt.Errorf("%w: you may look, and not act", errRefused)
	}
	if err := c.origins.Check(r); err != nil {
		return nil, fmt.Errorf("%w: %w", errForgeable, err)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyMax+1))
	if err == nil && len(body) > bodyMax {
		err = fmt.Errorf("above %d bytes", bodyMax)
	}
	var a api.Action
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the body is no action: %w", section.ErrBad, err)
	}
	return c.perform(r.Context(), a, r.RemoteAddr)
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	if status := statusOf(err); status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	write(w, statusOf(err), api.Error{Code: codeOf(err), Text: err.Error()})
}

// write answers in JSON. A browser that does not read is cut off by the deadline.
func write(w http.ResponseWriter, status int, x any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(x)
}
