package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/section"
	"github.com/coterie-go/coterie/ddata/console/timeline"
	"github.com/coterie-go/coterie/ddata/events/runbook"
)

// pathActions is where actions are posted.
const pathActions = "api/v1/actions"

// pathRunbook is where the pages of alarms are.
const pathRunbook = "api/v1/runbook"

// keyCluster is the key of what all nodes say.
const keyCluster = "cluster"

// serve answers a caller that may look.
func (c *handler) serve(w http.ResponseWriter, r *http.Request, caller Caller) {
	path := c.below(r)
	takes := methodsOf(path)
	var x any
	var err error
	switch {
	case takes == "":
		err = errNoPath
	case !slices.Contains(strings.Split(takes, ", "), r.Method):
		err = wrongMethod(takes)
	case path == pathActions:
		x, err = c.post(r, caller)
	case path == pathRunbook:
		x, err = alarmPage(parameters{values: r.URL.Query()})
	default:
		if f, ok := files[path]; ok {
			w.Header().Set("Content-Type", f.mime)
			_, _ = w.Write(f.body)
			return
		}
		x, err = c.look(r.Context(), path, r.URL.Query())
	}
	if err != nil {
		fail(w, err)
		return
	}
	write(w, http.StatusOK, x)
}

// methodsOf are the methods that a path takes; empty: nothing is there.
func methodsOf(path string) string {
	const looks = "GET, HEAD"
	switch path {
	case pathActions:
		return "POST"
	case "api/v1", "api/v1/cluster", "api/v1/node", "api/v1/shards", "api/v1/entity", "api/v1/events", "api/v1/metrics",
		pathRunbook:
		return looks
	}
	if _, ok := files[path]; ok {
		return looks
	}
	return ""
}

// below is the path of a request below the console's.
func (c *handler) below(r *http.Request) string {
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
func (c *handler) look(ctx context.Context, path string, q url.Values) (any, error) {
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

// alarmPage answers with the page of an alarm. It is part of the program, so no node is asked.
func alarmPage(p parameters) (any, error) {
	alarm := p.text("alarm")
	if p.err != nil {
		return nil, p.err
	}
	text, ok := runbook.Page(alarm)
	if !ok {
		return nil, fmt.Errorf("%w: alarm %q has no page; there are: %s", section.ErrUnknown,
			timeline.Clip(alarm, wordMax), strings.Join(runbook.Alarms(), ", "))
	}
	title, _, _ := strings.Cut(text, "\n")
	return api.Runbook{Alarm: strings.TrimPrefix(title, "# "), Text: text}, nil
}
