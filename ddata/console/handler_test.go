package console

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events/runbook"
)

// A path says which methods it takes. HEAD is answered as GET is, without the body.
func TestMethods(t *testing.T) {
	s := httptest.NewServer(Handler(ddatatest.Start(t, "a")[0], Config{Authorize: allowed}))
	defer s.Close()
	defer http.DefaultClient.CloseIdleConnections()
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"HEAD", "/", 200, ""}, {"HEAD", "/api/v1/cluster", 200, ""}, {"HEAD", "/api/v1/nothing", 404, ""},
		{"POST", "/", 405, "GET, HEAD"}, {"DELETE", "/api/v1/cluster", 405, "GET, HEAD"},
		{"OPTIONS", "/console.js", 405, "GET, HEAD"}, {"GET", "/api/v1/actions", 405, "POST"},
		{"PUT", "/api/v1/nothing", 404, ""},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != c.status || res.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, allow %q", c.method, c.path, res.StatusCode, res.Header.Get("Allow"))
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The handler works below any path, and its page names what it needs relative to it.
func TestPaths(t *testing.T) {
	node := ddatatest.Start(t, "a")[0]
	h := Handler(node, Config{Authorize: allowed})
	mux := http.NewServeMux()
	mux.Handle("/ops/coterie/", h)
	mux.Handle("GET /get/", h)
	mux.Handle("/stripped/", http.StripPrefix("/stripped", h))
	for _, mount := range []string{"/ops/coterie/", "/get/", "/stripped/"} {
		for _, path := range []string{"", "console.js", "console.css", "icon.svg", "api/v1/node"} {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest("GET", mount+path, nil))
			if w.Code != 200 || w.Body.Len() == 0 {
				t.Errorf("%s: %d", mount+path, w.Code)
			}
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
				strings.Contains(csp, "unsafe") || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", mount+path, w.Header())
			}
		}
	}
	own := Handler(node, Config{Authorize: allowed, Path: "/mine/"})
	w := httptest.NewRecorder()
	own.ServeHTTP(w, httptest.NewRequest("GET", "/mine/", nil))
	if page := w.Body.String(); w.Code != 200 || strings.Contains(page, "http://") || strings.Contains(page,
		"https://") ||
		strings.Contains(page, `ref="/`) || strings.Contains(page, `src="/`) || strings.Contains(page, "style=") ||
		strings.Contains(page, "onclick") {
		t.Errorf("%d: the page needs something from elsewhere, or has code in it", w.Code)
	}
	if js := string(files["console.js"].body); strings.Contains(js, "innerHTML") || strings.Contains(js,
		"insertAdjacentHTML") ||
		strings.Contains(js, "eval(") || strings.Contains(js, "document.write") {
		t.Error("the script makes markup of text")
	}
}

// A browser that does not read what it asked for is cut off: it holds no permit for long.
func TestDeafBrowser(t *testing.T) {
	_, hs, _ := cluster(t, 1, api.PageMax, Config{NodeTimeout: patience})
	c := hs[0].(*handler)
	c.limit = 200 * time.Millisecond
	in := make(chan struct{}, 1)
	c.cfg.Authorize = func(*http.Request) (Caller, error) {
		in <- struct{}{}
		return Caller{Access: Read}, nil
	}
	const small = 4 << 10 // bytes that the kernel keeps of what is not read, about
	s := httptest.NewUnstartedServer(c)
	s.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		_ = conn.(*net.TCPConn).SetWriteBuffer(small)
		return ctx
	}
	s.Start()
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(small)
	if _, err := fmt.Fprintf(conn, "GET /api/v1/shards?type=Cart&limit=%d HTTP/1.1\r\nHost: x\r\n\r\n",
		api.PageMax); err != nil {
		t.Fatal(err)
	}
	<-in // with its permit
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range requestsMax { // all permits are free again
		select {
		case c.permits <- struct{}{}:
		case <-ctx.Done():
			t.Fatal("its permit is never free again")
		}
	}
}

// Browsers above the bound are told to come again.
func TestSlowBrowsers(t *testing.T) {
	node := ddatatest.Start(t, "a")[0]
	c := Handler(node, Config{}).(*handler)
	in := make(chan struct{}, requestsMax)
	release := make(chan struct{})
	c.cfg.Authorize = func(*http.Request) (Caller, error) {
		in <- struct{}{}
		<-release
		return Caller{Access: Read}, nil
	}
	s := httptest.NewServer(c)
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for range requestsMax {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "GET /api/v1/cluster HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range requestsMax {
		<-in
	}
	res, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("one more than may be: %d", res.StatusCode)
	}
	close(release)
	http.DefaultClient.CloseIdleConnections()
}

// An alarm is asked for as an event or a metric names it. Each has the page of the runbook; a name without one is
// said, with those that have.
func TestRunbook(t *testing.T) {
	h := Handler(ddatatest.Start(t, "a")[0], Config{Authorize: allowed})
	for name, title := range map[string]string{
		"LeaseLost": "LeaseLost", "hand-off-aborted": "HandOffAborted", "batch.StoreSlow": "StoreSlow",
	} {
		x := ask[api.Runbook](t, h, 200, "GET", "/api/v1/runbook?alarm="+name, "")
		if text, _ := runbook.Page(title); x.Alarm != title || x.Text != text || text == "" {
			t.Errorf("%s: %+v", name, x)
		}
	}
	e := ask[api.Error](t, h, 404, "GET", "/api/v1/runbook?alarm=..%2Fdoc.go", "")
	if e.Code != api.CodeNotFound || !strings.Contains(e.Text, `"../doc.go" has no page`) ||
		!strings.Contains(e.Text, "LeaseLost, ") {
		t.Errorf("%+v", e)
	}
	for _, q := range []string{"", "?alarm=", "?alarm=" + strings.Repeat("x", api.IDMax+1)} {
		if e := ask[api.Error](t, h, 400, "GET", "/api/v1/runbook"+q, ""); e.Code != api.CodeBad {
			t.Errorf("%.40s: %+v", q, e)
		}
	}
	refused := Handler(ddatatest.Start(t, "a")[0], Config{})
	ask[api.Error](t, refused, 403, "GET", "/api/v1/runbook?alarm=LeaseLost", "")
}
