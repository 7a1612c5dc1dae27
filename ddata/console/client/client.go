package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
)

// answerMax bounds what is read of an answer, in bytes.
const answerMax = 64 << 20

// Client is the console of one node. Its methods may be called from any goroutine.
type Client struct {
	URL   string       // of the console, with the path below which it is mounted
	Token string       // sent as a bearer token; empty: none is
	HTTP  *http.Client // nil: http.DefaultClient
}

// Error is what a console answers when it does not answer.
type Error struct {
	Status int // of HTTP
	Code   string
	Text   string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d %s)", e.Text, e.Status, e.Code) }

// Refused reports whether the console does not let the caller do this.
func (e *Error) Refused() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// Cluster asks what the nodes say of the cluster and of themselves.
func (c *Client) Cluster(ctx context.Context) (api.Cluster, error) {
	return get[api.Cluster](ctx, c, "cluster", nil)
}

// Shards asks for a page of the shards of a type.
func (c *Client) Shards(ctx context.Context, typ string, from, limit int) (api.Shards, error) {
	return get[api.Shards](ctx, c, "shards", url.Values{
		"type": {typ}, "from": {strconv.Itoa(from)}, "limit": {strconv.Itoa(limit)},
	})
}

// Entity asks where an entity is.
func (c *Client) Entity(ctx context.Context, typ, id string) (api.Entity, error) {
	return get[api.Entity](ctx, c, "entity", url.Values{"type": {typ}, "id": {id}})
}

// Events asks for the latest events.
func (c *Client) Events(ctx context.Context, limit int) (api.Events, error) {
	return get[api.Events](ctx, c, "events", url.Values{"limit": {strconv.Itoa(limit)}})
}

// Metrics asks what took how long in the last minute.
func (c *Client) Metrics(ctx context.Context) (api.Metrics, error) {
	return get[api.Metrics](ctx, c, "metrics", nil)
}

// Runbook asks for the page of an alarm.
func (c *Client) Runbook(ctx context.Context, alarm string) (api.Runbook, error) {
	return get[api.Runbook](ctx, c, "runbook", url.Values{"alarm": {alarm}})
}

// Act has something done.
func (c *Client) Act(ctx context.Context, a api.Action) (api.Result, error) {
	body, err := json.Marshal(a)
	if err != nil {
		return api.Result{}, err
	}
	return call[api.Result](ctx, c, http.MethodPost, "actions", nil, bytes.NewReader(body))
}

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	return call[T](ctx, c, http.MethodGet, path, q, nil)
}

func call[T any](ctx context.Context, c *Client, method, path string, q url.Values, body io.Reader) (x T, err error) {
	at, err := url.Parse(strings.TrimSuffix(c.URL, "/") + "/api/v1/" + path)
	if err != nil {
		return x, err
	}
	at.RawQuery = q.Encode()
	r, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return x, err
	}
	r.Header.Set("Accept", "application/json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(api.Header, "client")
	}
	res, err := cmp.Or(c.HTTP, http.DefaultClient).Do(r)
	if err != nil {
		return x, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, answerMax))
	if err != nil {
		return x, err
	}
	if res.StatusCode != http.StatusOK {
		return x, failure(res, b)
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return x, fmt.Errorf("%s: no console answers there: %w", at.Redacted(), err)
	}
	return x, nil
}

// failure is the error of an answer that is none.
func failure(res *http.Response, body []byte) error {
	var e api.Error
	if json.Unmarshal(body, &e) != nil || e.Text == "" {
		e = api.Error{Code: api.CodeFailed, Text: "no console answers there"}
	}
	return &Error{res.StatusCode, e.Code, e.Text}
}
