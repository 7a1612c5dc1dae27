package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Suite is one server for all tests of a package.
type Suite struct {
	once   sync.Once
	server *Server
	err    error
}

// Run is the tests of a package with their server: what goleak.VerifyTestMain takes.
type Run struct {
	tests *testing.M
	suite *Suite
}

// Of returns the tests of a package.
func (s *Suite) Of(m *testing.M) Run { return Run{m, s} }

// Run runs the tests and ends the server.
func (r Run) Run() (code int) {
	code = r.tests.Run()
	if r.suite.server == nil {
		return code
	}
	if err := r.suite.server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Server returns the server. Without PostgreSQL the test is skipped, or fails if Required.
func (s *Suite) Server(t testing.TB) *Server {
	t.Helper()
	s.once.Do(func() { s.server, s.err = New(context.Background()) })
	check(t, s.err)
	return s.server
}

// Start starts a server for one test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := New(t.Context(), settings...)
	check(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, ErrMissing) && !Required():
		t.Skip(err) // skip: the machine may lack PostgreSQL; the variable makes it a failure
	case err != nil:
		t.Fatal(err)
	}
}
