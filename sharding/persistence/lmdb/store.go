package lmdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/durable"
	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Store is a directory with the state of entities. Its methods may be called concurrently. Close
// it, or the goroutine that writes stays.
type Store struct {
	env   *disk.Env
	table durable.Table
	turns turns
	feed  feed
}

// Options are those of the file.
type Options = disk.Options

var (
	_ persistence.Journal   = (*Store)(nil)
	_ persistence.Snapshots = (*Store)(nil)
	_ persistence.States    = (*Store)(nil)
	_ persistence.Reader    = (*Store)(nil)
)

const (
	noteTitle  = "coterie entities\n"
	noteFormat = noteTitle + "format 1\n"
	tableName  = "entities"
)

// Open takes a directory, which is made when it is missing. Errors are those of durable/lmdb.Open;
// they match persistence.ErrForeign, ErrVersion and ErrDamaged, too.
func Open(dir string, opts Options) (*Store, error) {
	env, err := disk.Open(dir, opts)
	if err != nil {
		return nil, fault(err)
	}
	s := &Store{env: env}
	if err := s.open(); err != nil {
		_ = env.Close()
		return nil, fault(err)
	}
	return s, nil
}

// ID names the directory. It was drawn when that was made.
func (s *Store) ID() string { return fmt.Sprintf("lmdb %016x", s.env.ID()) }

func (s *Store) open() (err error) {
	if err := claim(s.env); err != nil {
		return err
	}
	if s.table, err = s.env.Table(tableName); err != nil {
		return err
	}
	s.feed.table = s.table
	return s.env.Moment(s.table, func(v *disk.Moment) (err error) {
		s.feed.last, err = readNumber(v)
		return err
	})
}

// claim marks a new directory, and refuses one of something else.
func claim(env *disk.Env) error {
	note := string(env.Note())
	if note == noteFormat {
		return nil
	}
	if strings.HasPrefix(note, noteTitle) {
		return &durable.Error{Kind: durable.ErrVersion, Path: env.Dir(),
			Detail: fmt.Sprintf("its note is %.60q, and this program knows %q", note, noteFormat),
			Remedy: "use the program that wrote it"}
	}
	held, err := env.Contents()
	if err != nil {
		return err
	}
	if note != "" || len(held.Tables) > 0 {
		return &durable.Error{Kind: durable.ErrForeign, Path: env.Dir(),
			Detail: "it holds something else than the state of entities",
			Remedy: "give the store an empty directory, or the one that it had; not that of a node"}
	}
	return env.SetNote([]byte(noteFormat))
}

// Close writes what waits, and lets go of the directory. Live queries end with an error.
func (s *Store) Close() error {
	err := s.env.Close()
	s.feed.announce()
	return fault(err)
}

// fault has errors of the file match those of the port, too.
func fault(err error) error {
	for _, k := range []struct{ of, as error }{
		{durable.ErrForeign, persistence.ErrForeign},
		{durable.ErrVersion, persistence.ErrVersion},
		{durable.ErrCorrupt, persistence.ErrDamaged},
		{durable.ErrClosed, persistence.ErrClosed},
	} {
		if errors.Is(err, k.of) && !errors.Is(err, k.as) {
			return fmt.Errorf("%w: %w", k.as, err)
		}
	}
	return err
}

// read calls fn with a view in which a hosting is not over.
func (s *Store) read(ctx context.Context, h persistence.Hosting, fn func(*disk.Moment) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fault(s.env.Moment(s.table, func(v *disk.Moment) error {
		if _, err := compareFence(v, h); err != nil {
			return err
		}
		return fn(v)
	}))
}

// Fence implements persistence.Fencer.
func (s *Store) Fence(ctx context.Context, h persistence.Hosting) error {
	if err := persistence.CheckCall(h, 0); err != nil {
		return err
	}
	return s.write(ctx, h, func(v *disk.Moment, b *batch) (more bool, err error) {
		known, err := compareFence(v, h)
		if err == nil && !known {
			b.add(fenceRow(h))
		}
		return false, err
	})
}

// compareFence returns ErrFenced if a hosting is over. known reports whether it is the last one.
func compareFence(v *disk.Moment, h persistence.Hosting) (known bool, err error) {
	fence, found, err := readFence(v, h)
	if err == nil && h.Token.Less(fence) {
		err = fmt.Errorf("%w: shard %v of %q, %v after %v", persistence.ErrFenced, h.Shard, h.Type, fence, h.Token)
	}
	return found && fence == h.Token, err
}
