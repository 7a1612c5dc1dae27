package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Backup copies the files of the server, which is stopped meanwhile. PutBack puts a copy back.
func (s *Server) Backup(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	if err := s.replace(ctx, s.copied(), s.data()); err != nil {
		return err
	}
	return s.Start(ctx)
}

// PutBack kills the server, and starts it with the files of the last Backup.
func (s *Server) PutBack(ctx context.Context) error {
	if err := s.Kill(); err != nil {
		return err
	}
	if err := s.replace(ctx, s.data(), s.copied()); err != nil {
		return err
	}
	return s.Start(ctx)
}

func (s *Server) copied() string { return filepath.Join(s.dir, "copy") }

// replace makes a directory a copy of another one, with its owner and its rights.
func (s *Server) replace(ctx context.Context, to, from string) error {
	err := os.RemoveAll(to)
	if err == nil {
		var out []byte
		if out, err = exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		return fmt.Errorf("postgrestest: copy: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}
