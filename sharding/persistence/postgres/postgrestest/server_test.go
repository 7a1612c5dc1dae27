package postgrestest_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/proptest/nodetest"
	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

func TestMain(m *testing.M) {
	nodetest.Main(map[string]nodetest.Program{"server": runServer})
	goleak.VerifyTestMain(m)
}

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

// A paused server answers when it goes on, and a paused one can be stopped.
func TestPause(t *testing.T) {
	s := postgrestest.Start(t)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	dial := func(d time.Duration) error {
		conn, err := net.DialTimeout("tcp", s.Addr(), time.Minute)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(d)); err != nil {
			return err
		}
		sslRequest := []byte{0, 0, 0, 8, 4, 210, 22, 47}
		if _, err := conn.Write(sslRequest); err != nil {
			return err
		}
		_, err = conn.Read(make([]byte, 1))
		return err
	}
	if err := dial(200 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a paused server answers:", err)
	}
	if err := s.Resume(); err != nil {
		t.Error(err)
	}
	if err := dial(time.Minute); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Pause(), s.Stop()); err != nil {
		t.Error(err)
	}
	if s.Pause() == nil {
		t.Error("a server that does not run is paused")
	}
}
