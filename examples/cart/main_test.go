package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/examples/local/localtest"
)

// request sends a request and compares the answer.
func request(t *testing.T, method, url string, wantStatus int, wantBody string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if got := strings.TrimSpace(string(body)); err != nil || answer.StatusCode != wantStatus || got != wantBody {
		t.Errorf("%s %s answers %d %s (%v), want %d %s", method, url, answer.StatusCode, got, err, wantStatus, wantBody)
	}
}

// Every node answers for a cart, and the cart is there after a stop of all of them.
func TestCart(t *testing.T) {
	dir := t.TempDir()
	serve := func(ctx context.Context, out io.Writer, first int) error { return run(ctx, out, first, dir) }
	t.Run("fill", func(t *testing.T) {
		urls := localtest.URLs(t, 3, serve)
		request(t, "GET", urls[0]+"/carts/alice", 200, `{"items":null,"checkedOut":false}`)
		request(t, "POST", urls[0]+"/carts/alice/items?item=pen&count=2", 200, `{"items":{"pen":2},"checkedOut":false}`)
		request(t, "POST", urls[1]+"/carts/alice/items?item=ink&count=1", 200,
			`{"items":{"ink":1,"pen":2},"checkedOut":false}`)
		request(t, "POST", urls[1]+"/carts/alice/items?item=ink&count=0", 400, ErrCount.Error())
		request(t, "POST", urls[1]+"/carts/alice/items", 400, "an item and a count are needed")
	})
	t.Run("again", func(t *testing.T) {
		urls := localtest.URLs(t, 3, serve)
		request(t, "POST", urls[2]+"/carts/alice/checkout", 200, `{"items":{"ink":1,"pen":2},"checkedOut":true}`)
		request(t, "POST", urls[0]+"/carts/alice/items?item=pen&count=1", 409, ErrCheckedOut.Error())
		request(t, "GET", urls[1]+"/carts/alice", 200, `{"items":{"ink":1,"pen":2},"checkedOut":true}`)
	})
}
