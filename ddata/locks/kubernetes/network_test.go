package kubernetes_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/kubetest"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
)

// lines are the connections of a client, of which those that are there go dead at once.
type lines struct {
	wires *faulty.Wires
	addr  string
	age   atomic.Int64
}

func newLines(t testing.TB, addr string) *lines {
	l := &lines{wires: faulty.New(1), addr: addr}
	t.Cleanup(l.wires.Close)
	return l
}

func (l *lines) name(age int64) string { return fmt.Sprint("client ", age) }

// client has a client use the lines.
func (l *lines) client(c *rest.Config) *rest.Config {
	c.Dial = func(ctx context.Context, _, addr string) (net.Conn, error) {
		return l.wires.At(l.name(l.age.Load()), transport.TCP()).Dial(ctx, addr)
	}
	return c
}

// die stops what is sent on all connections that are there, without an end.
func (l *lines) die() { l.wires.CutBoth(l.name(l.age.Add(1)-1), l.addr) }

// part lets nothing through until join, on connections that are there and new ones.
func (l *lines) part() { l.wires.CutBoth(l.name(l.age.Load()), l.addr) }

// join ends part. What was sent meanwhile is on its way then.
func (l *lines) join() { l.wires.HealAll() }

// All connections go dead, time and again, and new ones do not. The holder keeps the lease. With HTTP/2 all calls
// have one connection, which a call that is given up leaves as it is.
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	const ttl = 8 // a quarter of it is lost with each, and a busy machine may need as much
	server := kubetest.Start(t)
	secure := httptest.NewUnstartedServer(server)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for name, c := range map[string]struct {
		addr   string
		client *rest.Config
	}{
		"HTTP/1.1": {server.Addr(), server.Client()},
		"HTTP/2": {
			secure.Listener.Addr().String(),
			&rest.Config{Host: secure.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := newLines(t, c.addr)
			l := drill.Door(t, open(t, "p", ttl, lines.client(c.client)), "me")
			lost := drill.Acquire(t, l)
			for range 3 {
				lines.die()
				drill.Renewed(t, l, ttl*time.Second)
				kept(t, lost)
			}
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// An API server whose answers take too long for renewals is refused, with both times and a TTL that would do.
// That TTL does.
func TestSlowServerIsRefused(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	lines := newLines(t, server.Addr())
	lines.wires.SetAll(faulty.Weather{Delay: 100 * time.Millisecond})
	_, err := kubernetes.Open(t.Context(), lines.client(server.Client()), config("p", 1))
	says(t, err, locks.ErrUnusable, "raise Config.TTL to 4s")
	says(t, err, locks.ErrUnusable, "has 250ms, a quarter of Config.TTL")
	l := drill.Door(t, open(t, "p", 4, lines.client(server.Client())), "me")
	lost := drill.Acquire(t, l)
	drill.Renewed(t, l, 4*time.Second)
	kept(t, lost)
}

// between takes the writes of a client on their way to the server, when it is set.
type between struct {
	next http.RoundTripper

	mu   sync.Mutex
	take func(r *http.Request, call func(*http.Request) (*http.Response, error)) (*http.Response, error)
}

func (b *between) set(
	take func(r *http.Request, call func(*http.Request) (*http.Response, error)) (*http.Response, error),
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.take = take
}

// client has a client's writes taken.
func (b *between) client(c *rest.Config) *rest.Config {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		b.next = next
		return b
	})
	return c
}

// RoundTrip implements http.RoundTripper.
func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	take := b.take
	b.mu.Unlock()
	if take == nil || r.Method == http.MethodGet {
		return b.next.RoundTrip(r)
	}
	return take(r, b.next.RoundTrip)
}

var errNoAnswer = errors.New("the answer was lost")

// loses has a call reach the server, and its answer not the client.
func loses(r *http.Request, call func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	answer, err := call(r)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	return nil, errNoAnswer
}

// delays has calls reach the server when the test says so, and gives them up before.
type delays struct {
	late []func() error // the calls
}

func (d *delays) take(r *http.Request, call func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	later := r.Clone(context.Background())
	later.Body, _ = r.GetBody()
	d.late = append(d.late, func() error {
		answer, err := call(later)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode >= http.StatusMultipleChoices {
			return errors.New(answer.Status)
		}
		return nil
	})
	return nil, errNoAnswer
}

// arrive has the calls arrive now. It fails the test if one takes effect.
func (d *delays) arrive(t *testing.T) {
	t.Helper()
	if len(d.late) == 0 {
		t.Error("no call was delayed")
	}
	for _, call := range d.late {
		if err := call(); err == nil {
			t.Error("a late call takes effect")
		}
	}
}
