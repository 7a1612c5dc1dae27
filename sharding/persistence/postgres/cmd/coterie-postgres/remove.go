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
	return func(ctx context.Context, s *postgres.Store, typ string, dirs []string, out io.Writer) error {
		if err := noDirs("remove", dirs); err != nil {
			return err
		}
		if err := want(ctx, s, typ); err != nil {
			return err
		}
		visit, done := s.Remove, " removed"
		if *dry {
			visit, done = s.Holds, " would be removed"
		}
		own := parts[:2] // not the entities
		if *keepIDs {
			own = parts[:1]
		}
		for _, p := range own {
			if err := p.tell(ctx, typ, visit, done, out); err != nil {
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
