package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// part is what a store has of an entity type.
type part struct {
	name          string // in what the command prints
	holds, remove visit
}

// visit counts or removes a part of an entity type, and says what there was.
type visit func(ctx context.Context, s *postgres.Store, typ string) (fmt.Stringer, error)

// Parts that an entity type may have.
var (
	homes     = journalPart("homes", ledger.TypeName)
	idsKept   = journalPart("ids", journaled.TypeName)
	entities  = journalPart("entities", func(typ string) string { return typ })
	reminders = part{
		"reminders",
		func(ctx context.Context, s *postgres.Store, typ string) (fmt.Stringer, error) {
			n, err := s.Reminders(typ).Count(ctx)
			return reminderCount(n), err
		},
		func(ctx context.Context, s *postgres.Store, typ string) (fmt.Stringer, error) {
			n, err := s.Reminders(typ).Remove(ctx)
			return reminderCount(n), err
		},
	}
)

// journalPart is a part that is a type of the journal, of which the name is made of that of the entity type.
func journalPart(name string, stored func(typ string) string) part {
	return part{
		name,
		func(ctx context.Context, s *postgres.Store, typ string) (fmt.Stringer, error) {
			return s.Holds(ctx, stored(typ))
		},
		func(ctx context.Context, s *postgres.Store, typ string) (fmt.Stringer, error) {
			return s.Remove(ctx, stored(typ))
		},
	}
}

type reminderCount int64

func (n reminderCount) String() string { return fmt.Sprintf("reminders=%d", int64(n)) }

// entityTypes returns the names of the entity types of which a store has anything.
func entityTypes(ctx context.Context, s *postgres.Store) ([]string, error) {
	stored, err := s.Types(ctx)
	types := map[string]bool{}
	for _, name := range stored {
		for _, prefix := range []string{ledger.TypePrefix, journaled.TypePrefix, postgres.RemindersTypePrefix} {
			name = strings.TrimPrefix(name, prefix)
		}
		types[name] = true
	}
	return slices.Sorted(maps.Keys(types)), err
}

// want fails if a store has nothing of an entity type, and names those of which it has something.
func want(ctx context.Context, s *postgres.Store, typ string) error {
	types, err := entityTypes(ctx, s)
	switch {
	case err != nil || slices.Contains(types, typ):
		return err
	case len(types) == 0:
		return fmt.Errorf("there is no type %q; the schema has none", typ)
	}
	return fmt.Errorf("there is no type %q; there are %s", typ, strings.Join(types, ", "))
}

func typesVerb(*flag.FlagSet) job {
	return func(ctx context.Context, s *postgres.Store, _ string, dirs []string, out io.Writer) error {
		if err := noDirs("types", dirs); err != nil {
			return err
		}
		types, err := entityTypes(ctx, s)
		for _, typ := range types {
			if err == nil {
				err = inspect(ctx, s, typ, out)
			}
		}
		return err
	}
}

func inspectVerb(*flag.FlagSet) job {
	return func(ctx context.Context, s *postgres.Store, typ string, dirs []string, out io.Writer) error {
		if err := noDirs("inspect", dirs); err != nil {
			return err
		}
		if err := want(ctx, s, typ); err != nil {
			return err
		}
		return inspect(ctx, s, typ, out)
	}
}

// inspect counts what there is of an entity type.
func inspect(ctx context.Context, s *postgres.Store, typ string, out io.Writer) error {
	for _, p := range []part{homes, idsKept, reminders, entities} {
		if err := p.tell(ctx, s, typ, p.holds, "", out); err != nil {
			return err
		}
	}
	return nil
}

// tell visits a part, and says what there was.
func (p part) tell(
	ctx context.Context, s *postgres.Store, typ string, visit visit, done string, out io.Writer,
) error {
	held, err := visit(ctx, s, typ)
	if err == nil {
		fmt.Fprintf(out, "type=%s %s: %v%s\n", typ, p.name, held, done)
	}
	return err
}
