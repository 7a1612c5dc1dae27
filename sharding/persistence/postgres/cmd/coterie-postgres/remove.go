package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

func removeVerb(flags *flag.FlagSet) job {
	dry := flags.Bool("n", false, "only count")
	keepIDs := flags.Bool("keep-ids", false, "the remembered ids stay")
	withReminders := flags.Bool("reminders", false, "the reminders go, too")
	return func(ctx context.Context, s *postgres.Store, typ string, dirs []string, out io.Writer) error {
		if err := noDirs("remove", dirs); err != nil {
			return err
		}
		if err := want(ctx, s, typ); err != nil {
			return err
		}
		own := []part{homes} // and never the entities
		if !*keepIDs {
			own = append(own, idsKept)
		}
		if *withReminders {
			own = append(own, reminders)
		}
		for _, p := range own {
			visit, done := p.remove, " removed"
			if *dry {
				visit, done = p.holds, " would be removed"
			}
			if err := p.tell(ctx, s, typ, visit, done, out); err != nil {
				return err
			}
		}
		return nil
	}
}

func noDirs(verb string, dirs []string) error {
	if len(dirs) > 0 {
		return fmt.Errorf("%w: %s: %q is too much", errUsage, verb, dirs)
	}
	return nil
}
