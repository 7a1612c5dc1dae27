package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Writers append while something happens to the server, a few times. Each write is repeated until it
// is answered. Afterwards each is there, once.
func TestWritesOutlive(t *testing.T) {
	for name, happens := range map[string]func(*testing.T, *postgrestest.Server){
		"a kill of the server": func(t *testing.T, s *postgrestest.Server) {
			if err := errors.Join(s.Kill(), s.Start(context.WithoutCancel(t.Context()))); err != nil {
				t.Error(err)
			}
		},
		"the end of all connections": func(t *testing.T, s *postgrestest.Server) {
			exec(t, s.DSN(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = "+
				"'client backend' AND pid <> pg_backend_pid()")
		},
	} {
		t.Run(name, func(t *testing.T) {
			const writers, events = 4, 24
			server := postgrestest.Start(t)
			s := openAt(t, server.DSN(), "faults")
			var stored atomic.Uint64
			more := make(chan struct{}, writers*events)
			var all sync.WaitGroup
			for i := range writers {
				all.Go(func() {
					h, id := hosting(protocol.ShardID(i), 1), protocol.EntityID(fmt.Sprint(i))
					for n := range uint64(events) {
						appendUntilStored(t, s, h, write(id, n, n+1, fmt.Sprint(n)))
						stored.Add(1)
						more <- struct{}{}
					}
				})
			}
			for range 2 {
				for range writers * events / 3 {
					<-more
				}
				happens(t, server)
			}
			all.Wait()
			for i := range writers {
				got := load(t, s, hosting(protocol.ShardID(i), 1), protocol.EntityID(fmt.Sprint(i)))
				if len(got) != events {
					t.Errorf("writer %d: %d events, want %d", i, len(got), events)
				}
				for n, body := range got {
					if body != fmt.Sprint(n) {
						t.Errorf("writer %d: event %d is %q", i, n, body)
					}
				}
			}
		})
	}
}

// proxy stands before a server. It can lose what the server says.
type proxy struct {
	net.Listener
	server string
	deaf   atomic.Bool // the next bytes of the server are lost, and their connection with them
	lost   chan struct{}
	all    sync.WaitGroup
}

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, server: server, lost: make(chan struct{}, 100)}
	p.all.Go(p.run)
	t.Cleanup(func() {
		l.Close()
		p.all.Wait()
	})
	return p
}

func (p *proxy) run() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		p.all.Go(func() { p.serve(client) })
	}
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.all.Go(func() {
		_, _ = io.Copy(server, client) // until one of them ends
		server.Close()
	})
	buf := make([]byte, 4096)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.deaf.CompareAndSwap(true, false) {
			p.lost <- struct{}{}
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// An answer that is lost leaves the outcome unknown, and says so. The write is there once when it
// was repeated.
func TestLostAnswer(t *testing.T) {
	p := startProxy(t, suite.Server(t).Addr())
	_, port, err := net.SplitHostPort(p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	dsn := fmt.Sprintf("host=127.0.0.1 port=%s user=%s dbname=postgres sslmode=disable", port, postgrestest.User)
	c := config(t, dsn, newSchema())
	c.Pool.MaxConns = 1 // so that what is lost is the answer to the call, and not to an announcement
	s, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := hosting(1, 1)
	fence(t, s, h)
	for n := range uint64(3) {
		w := write("a", n, n+1, fmt.Sprint(n))
		p.deaf.Store(true)
		var unknown error
		for {
			refused, err := s.Append(t.Context(), h, []persistence.Write{w})
			if err == nil {
				if len(refused) > 0 {
					t.Error(refused)
				}
				break
			}
			unknown = err
		}
		<-p.lost
		if unknown != nil && !strings.Contains(unknown.Error(), "outcome is unknown") {
			t.Error(unknown)
		}
	}
	if got := fmt.Sprint(load(t, s, h, "a")); got != "[0 1 2]" {
		t.Error(got)
	}
}

// A server that takes no writes is named as such, and the pool finds it again when it does.
func TestReadOnlyServer(t *testing.T) {
	server := postgrestest.Start(t)
	s, h := openAt(t, server.DSN(), "faults"), hosting(1, 1)
	store(t, s, h, write("a", 0, 1, "1"))
	restart := func(setting string) {
		t.Helper()
		exec(t, server.DSN()+" default_transaction_read_only=off",
			"ALTER ROLE "+postgrestest.User+" SET default_transaction_read_only = "+setting)
		if err := errors.Join(server.Stop(), server.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	restart("on")
	var err error
	for err == nil || !strings.Contains(err.Error(), "target_session_attrs=read-write") {
		if _, err = s.Append(t.Context(), h, []persistence.Write{write("a", 1, 2, "2")}); err == nil {
			t.Fatal("a server that takes no writes took one")
		}
	}
	if got := fmt.Sprint(load(t, s, h, "a")); got != "[1]" {
		t.Error(got)
	}
	restart("off")
	appendUntilStored(t, s, h, write("a", 1, 2, "2"))
	if got := fmt.Sprint(load(t, s, h, "a")); got != "[1 2]" {
		t.Error(got)
	}
}

// A server that is gone is an error at once, which says so.
func TestServerGone(t *testing.T) {
	server := postgrestest.Start(t)
	s, h := openAt(t, server.DSN(), "faults"), hosting(1, 1)
	store(t, s, h, write("a", 0, 1, "1"))
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := s.Append(ctx, h, []persistence.Write{write("a", 1, 2, "2")}); err == nil || ctx.Err() != nil ||
		!strings.Contains(err.Error(), "no connection to the server") {
		t.Errorf("got %v", err)
	}
}
