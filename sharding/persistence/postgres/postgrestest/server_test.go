package postgrestest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server is there again after each end, and is ready when Start has returned.
func TestStartAgain(t *testing.T) {
	s := postgrestest.Start(t)
	for _, end := range []func() error{s.Stop, s.Kill, s.Kill} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
