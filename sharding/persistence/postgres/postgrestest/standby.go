package postgrestest

import (
	"context"
	"fmt"
	"testing"
)

// StandbyName is how a primary knows its standby.
const StandbyName = "standby"

// StartStandby starts a standby of a server for one test: it follows what the server commits. The server
// does not wait for it, unless its synchronous_standby_names has StandbyName.
func StartStandby(t testing.TB, primary *Server) *Server {
	t.Helper()
	s, err := newServer(t.Context(), func(s *Server) error {
		at := fmt.Sprintf("host=%s port=%s user=%s application_name=%s", primary.dir, primary.port, User, StandbyName)
		err := s.run(t.Context(), "pg_basebackup", "-d", at, "-D", s.data(), "--checkpoint=fast", "--no-sync",
			"--write-recovery-conf")
		if err != nil {
			return err
		}
		return s.configure()
	})
	check(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Promote makes a standby a primary, and waits until it is one.
func (s *Server) Promote(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "promote", "-D", s.data(), "-w", "-t", "60")
}

// Either returns the connection string of the one of two servers that takes writes.
func Either(a, b *Server) string {
	return fmt.Sprintf("host=%s,%s port=%s,%s user=%s dbname=postgres sslmode=disable "+
		"target_session_attrs=read-write", a.dir, b.dir, a.port, b.port, User)
}
