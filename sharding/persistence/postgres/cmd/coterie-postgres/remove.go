package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// visit counts or removes a part of a type's own data.
type visit func(ctx context.Context, r persistence.Remover, typ string) (persistence.Held, error)

func inspectVerb(*flag.FlagSet) job {
	return func(ctx context.Context, s *postgres.Store, typ string, dirs []string, out io.Writer) error {
		if err := noDirs("inspect", dirs); err != nil {
			return err
		}
		if err := tell(ctx, s, typ, "homes", "", ledger.Holds, out); err != nil {
			return err
		}
		return tell(ctx, s, typ, "ids", "", journaled.Holds, out)
	}
}

func removeVerb(flags *flag.FlagSet) job {
	dry := flags.Bool("n", false, "only count")
	keepIDs := flags.Bool("keep-ids", false, "the remembered ids stay")
	return func(ctx context.Context, s *postgres.Store, typ string, dirs []string, out io.Writer) error {
		if err := noDirs("remove", dirs); err != nil {
			return err
		}
		homes, ids, done := ledger.Remove, journaled.Remove, " removed"
		if *dry {
			homes, ids, done = ledger.Holds, journaled.Holds, " would be removed"
		}
		if err := tell(ctx, s, typ, "homes", done, homes, out); err != nil || *keepIDs {
			return err
		}
		return tell(ctx, s, typ, "ids", done, ids, out)
	}
}

func noDirs(verb string, dirs []string) error {
	if len(dirs) > 0 {
		return fmt.Errorf("%w: %s: %q is too much", errUsage, verb, dirs)
	}
	return nil
}

// tell visits a part, and says what there was.
func tell(ctx context.Context, s *postgres.Store, typ, what, done string, visit visit, out io.Writer) error {
	held, err := visit(ctx, s, typ)
	if err == nil {
		fmt.Fprintf(out, "type=%s %s: %v%s\n", typ, what, held, done)
	}
	return err
}
