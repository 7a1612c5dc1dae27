package console

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/ddatatest"
)

// A stranger sees nothing, whatever is asked for: no name, no page, no hint of what there is.
func TestStranger(t *testing.T) {
	node := ddatatest.Start(t, "a")[0]
	tokens := Tokens{Read: "look", Operate: "steer"}
	for name, cfg := range map[string]Config{ // order: none matters
		"no hook": {},
		"an error": {Authorize: func(*http.Request) (Caller, error) {
			return Caller{Access: Operate}, errors.New("secret reason")
		}},
		"no access":  {Authorize: func(*http.Request) (Caller, error) { return Caller{}, nil }},
		"no secrets": {Authorize: Tokens{}.Authorize},
		"tokens":     {Authorize: tokens.Authorize},
	} {
		h := Handler(node, cfg)
		for _, path := range []string{"/", "/console.js", "/api/v1", "/api/v1/cluster", "/api/v1/nothing", "/../x"} {
			for _, header := range []string{"", "Bearer ", "Bearer nonsense", "Basic Og==", "look"} {
				r := httptest.NewRequest("GET", path, nil)
				if header != "" {
					r.Header.Set("Authorization", header)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				body := w.Body.String()
				if w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized {
					t.Errorf("%s: %s with %q: %d %s", name, path, header, w.Code, body)
				}
				if strings.Contains(body, "test") || strings.Contains(body, node.Addr()) || strings.Contains(body,
					"secret") ||
					strings.Contains(body, "<") || w.Header().Get(api.AccessHeader) != "" {
					t.Errorf("%s: a stranger is told: %s", name, body)
				}
				if name == "no hook" && !strings.Contains(body, "Config.Authorize") {
					t.Errorf("it is not said how to allow: %s", body)
				}
			}
		}
	}
}

func TestTokens(t *testing.T) {
	tokens := Tokens{Read: "look", Operate: "steer"}
	for _, c := range []struct {
		header string
		want   Access
	}{
		{"", None}, {"Bearer look", Read}, {"Bearer steer", Operate}, {"Bearer steer ", None},
		{"Basic bWU6bG9vaw==", Read}, {"Basic bWU6c3RlZXI=", Operate}, {"Basic bG9vazo=", None}, {"bearer look", None},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		got, err := tokens.Authorize(r)
		if got.Access != c.want || (got.Name == "") != (c.want == None) || (err == nil) != (c.want != None) {
			t.Errorf("%q: %v %v, want %v", c.header, got, err, c.want)
		}
	}
}

// Only a caller that may act acts, and only by a request that a page of another site cannot make.
func TestForgeries(t *testing.T) {
	node := ddatatest.Start(t, "a")[0]
	h := Handler(node, Config{Authorize: Tokens{Read: "look", Operate: "steer"}.Authorize})
	const body = `{"do":"down","node":"gone:1"}` // reaches the action, which knows no such member
	for _, c := range []struct {
		name   string
		edit   func(*http.Request)
		status int
		code   string
	}{
		{"well made", func(*http.Request) {}, 404, api.CodeNotFound},
		{"may look only", func(r *http.Request) { r.Header.Set("Authorization", "Bearer look") }, 403, api.CodeRefused},
		{"no header", func(r *http.Request) { r.Header.Del(api.Header) }, 403, api.CodeForgeable},
		{"a form", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 403, api.CodeForgeable},
		{"another site", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403,
			api.CodeForgeable},
		{"another site by its fetch", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403,
			api.CodeForgeable},
		{"GET", func(r *http.Request) { r.Method = "GET" }, 405, api.CodeBad},
	} {
		r := httptest.NewRequest("POST", "/api/v1/actions", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer steer")
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		r.Header.Set(api.Header, "test")
		c.edit(r)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), `"`+c.code+`"`) {
			t.Errorf("%s: %d %s, want %d %s", c.name, w.Code, w.Body, c.status, c.code)
		}
	}
}

// Actions name their caller, those too that were refused; a storm of those is told in a few.
func TestAudit(t *testing.T) {
	node := ddatatest.Start(t, "a")[0]
	h := Handler(node, Config{Authorize: func(r *http.Request) (Caller, error) {
		switch name := r.Header.Get("Name"); name {
		case "alice":
			return Caller{Operate, name}, nil
		case "bob":
			return Caller{Read, name}, nil
		}
		return Caller{}, errors.New("a stranger")
	}})
	post := func(name string, header bool, body string) {
		r := httptest.NewRequest("POST", "/api/v1/actions", strings.NewReader(body))
		r.Header.Set("Name", name)
		r.Header.Set("Content-Type", "application/json")
		if header {
			r.Header.Set(api.Header, "test")
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	post("alice", true, `{"do":"down","node":"gone:1"}`)
	post("bob", true, `{"do":"down","node":"`+strings.Repeat("x", bodyMax/2)+`"}`)
	post("alice", false, `{"do":"prepare-shutdown"}`)
	const most = 10
	for range 3 * most {
		post("mallory", true, `{"do":"down","node":"gone:1"}`)
	}
	for range 3 * most {
		post("bob", true, `{"do":"<script>"}`)
	}
	var told []string
	for _, e := range h.(*handler).station.events.Latest(100, 1<<20) {
		if e.Kind == "Acted" {
			told = append(told, e.Text)
			mistake := strings.Contains(e.Text, "alice from") && len(told) == 1
			stranger := strings.Contains(e.Text, "stranger")
			if (e.Level == "warn") == (mistake || stranger) || len(e.Text) > 500 {
				t.Errorf("%+v", e)
			}
		}
	}
	if len(told) != 2+most { // a mistake, and a stranger
		t.Fatalf("%d events: %q", len(told), told)
	}
	for i, says := range [][]string{{"do=down", "by=alice from 192.0.2.1:1234"}, {"do=down", "bob from", "not act"},
		{"do=prepare-shutdown", "alice from", "header"}, {"do=unknown", "by=192.0.2.1:1234", "not allowed"},
		{"do=unknown", "bob from"}} {
		for _, s := range says {
			if !strings.Contains(told[i], s) {
				t.Errorf("no %q in %s", s, told[i])
			}
		}
	}
}

// A minute has its own events, the first of which counts what was not told before.
func TestRefusals(t *testing.T) {
	r, now := refusals{most: 3, every: time.Minute}, time.Unix(1000, 0)
	for i := range 7 {
		if ok, untold := r.next(now); ok != (i < 3) || untold > 0 {
			t.Errorf("attempt %d: %v %d", i, ok, untold)
		}
	}
	if ok, untold := r.next(now.Add(time.Minute)); !ok || untold != 4 {
		t.Errorf("%v %d", ok, untold)
	}
}
