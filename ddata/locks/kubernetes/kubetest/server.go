package kubetest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Namespace is there from the start.
const Namespace = "shop"

// Server is an API server that runs until its test ends. Its methods may be called concurrently.
type Server struct {
	addr  string
	state *state

	mu      sync.Mutex
	run     *http.Server // nil while it is stopped
	serving sync.WaitGroup
	accept  chan struct{} // closed while requests are handled
	tired   int           // how many of the next requests are answered with 429
	after   time.Duration // what those say
	broken  int           // how many of the next requests are answered with 500
	served  int
}

// Start starts a server on loopback that lets everyone do everything, until Grant is called.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Listen is Start at an address, outside of a test. Stop ends the server.
func Listen(addr string) (*Server, error) {
	s := &Server{state: newState(), accept: make(chan struct{})}
	close(s.accept)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s.addr = l.Addr().String()
	s.serve(l)
	return s, nil
}

// URL returns where the server is.
func (s *Server) URL() string { return "http://" + s.addr }

// Addr returns where the server listens, as host:port.
func (s *Server) Addr() string { return s.addr }

// Client returns the configuration of a client.
func (s *Server) Client() *rest.Config { return &rest.Config{Host: s.URL()} }

// As returns the configuration of a client with a token, see Grant.
func (s *Server) As(token string) *rest.Config {
	return &rest.Config{Host: s.URL(), BearerToken: token}
}

func (s *Server) serve(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = &http.Server{Handler: s}
	run := s.run
	s.serving.Go(func() { _ = run.Serve(l) })
}

// Stop ends the server and its connections, as a crash does. Objects stay.
func (s *Server) Stop() {
	s.mu.Lock()
	run := s.run
	s.run = nil
	s.mu.Unlock()
	if run != nil {
		_ = run.Close()
	}
	s.serving.Wait()
}

// Restart starts a server that was stopped, at the same address.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	var l net.Listener
	err := errors.New("no try")
	for ctx, again := t.Context(), time.NewTicker(10*time.Millisecond); err != nil && ctx.Err() == nil; <-again.C {
		l, err = net.Listen("tcp", s.addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.serve(l)
}

// Pause has requests wait until Resume. Those that came before are answered.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accept = make(chan struct{})
}

// Resume handles the requests that wait, and all that come.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.accept)
}

// Throttle answers so many of the next requests with 429, and has clients wait for whole seconds.
func (s *Server) Throttle(requests int, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tired, s.after = requests, wait
}

// Fail answers so many of the next requests with 500.
func (s *Server) Fail(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = requests
}

// Served returns how many requests were handled, refused or not.
func (s *Server) Served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served
}

// Lie has the server compare no resourceVersions from now on.
func (s *Server) Lie() { s.state.edit(func() { s.state.lies = true }) }

// await waits until requests are handled. It reports whether the client still waits.
func (s *Server) await(ctx context.Context) bool {
	s.mu.Lock()
	accept := s.accept
	s.mu.Unlock()
	select {
	case <-accept:
		return true
	case <-ctx.Done():
		return false
	}
}

// overload returns the answer of a server that does not get to a request: nil if it does.
func (s *Server) overload() *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served++
	switch {
	case s.tired > 0:
		s.tired--
		return throttled(s.after)
	case s.broken > 0:
		s.broken--
		return &failure{code: http.StatusInternalServerError, reason: "InternalError",
			message: "Internal error occurred: etcdserver: request timed out"}
	}
	return nil
}
