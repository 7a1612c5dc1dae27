// Command coterie-postgres looks after what entity types keep of themselves in PostgreSQL: the homes
// of shards (package ledger), the ids of remembered entities (package journaled), and reminders. All nodes
// must be stopped. It refuses, and changes nothing, while a program has the schema open.
//
//	coterie-postgres types [-dsn DSN] [-schema NAME]
//	                                  count what there is of each type
//	coterie-postgres inspect -type NAME [-dsn DSN] [-schema NAME]
//	                                  count what there is of one
//	coterie-postgres remove [-n] [-keep-ids] [-reminders] -type NAME [-dsn DSN] [-schema NAME]
//	                                  forget the homes and the remembered ids, and with -reminders the
//	                                  reminders; -n only counts
//	coterie-postgres copy -to journal|directories [-n] [-replace] -type NAME -role ROLE [-dsn DSN] [-schema NAME] DIR…
//	                                  copy the remembered ids between the directories of nodes and the journal
//
// The homes are made anew with the next start. With -keep-ids the ids stay: that is for a cluster
// whose founder the token of an earlier founding keeps out. With -reminders those that entities have set go,
// too: nothing brings them back. The events and the states of the
// entities themselves are not touched. Either can be repeated.
//
// copy is for the move from one mode to the other: from ids in the directories of nodes to ids in the
// journal, or back. The target has what the source has afterwards, which is read again and compared; the
// source stays as it is, until remove, or coterie data remove, forgets it. A copy that was cut can be
// repeated. What only the target has is refused, unless -replace takes it out.
//
// DSN is a connection string or an URL of PostgreSQL. The variables of libpq, such as PGHOST, stand
// for what it leaves out.
//
// # The directories for copy
//
// DIR are the directories of all nodes of the role. A node that will not come back counts, too: an id that
// only its directory has would be lost. The command needs them on one machine.
//
//  1. Stop all nodes, and wait for the end of each process. A directory that a process has open is refused,
//     with its process id. A copy that was made while its node ran is of no use.
//  2. Bring the directory of each node, which is its Config.Dir, to the machine, whole: with rsync -a or tar,
//     each under a name of its own. In Kubernetes a pod that has the volumes of all nodes is such a machine,
//     while the StatefulSet has no replicas. The command coterie data inspect DIR says which node it is of.
//  3. Run copy with -n. Compare its number of ids with what you expect. Then run it without.
//  4. After -to directories, bring each directory back to its node, in place of the one that is there. After
//     -to journal they are as before.
//  5. Start the nodes with the other setting. When all is well, remove what the source has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/sharding/persistence/postgres"
)

const usage = `coterie-postgres looks after what entity types keep of themselves in PostgreSQL, while all nodes are stopped.

  coterie-postgres types [-dsn DSN] [-schema NAME]
                                    count what there is of each type
  coterie-postgres inspect -type NAME [-dsn DSN] [-schema NAME]
                                    count what there is of one
  coterie-postgres remove [-n] [-keep-ids] [-reminders] -type NAME [-dsn DSN] [-schema NAME]
                                    forget the homes of shards and the remembered ids, and with -reminders
                                    the reminders; -n only counts
  coterie-postgres copy -to journal|directories [-n] [-replace] -type NAME -role ROLE [-dsn DSN] [-schema NAME] DIR...
                                    copy the remembered ids between the directories of the nodes and the
                                    journal, and compare; -n only counts
  coterie-postgres help             this text

The variables of libpq, such as PGHOST, stand for what DSN leaves out.
`

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// errUsage is a mistake in the arguments.
var errUsage = errors.New("usage")

// job is what a command does with a type in a schema that no other program has.
type job func(ctx context.Context, s *postgres.Store, typ string, dirs []string, out io.Writer) error

// verbs are what the command can do. Each adds its flags to a set.
var verbs = map[string]func(*flag.FlagSet) job{
	"types":   typesVerb,
	"inspect": inspectVerb,
	"remove":  removeVerb,
	"copy":    copyVerb,
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	err := dispatch(ctx, args, out)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return exitOK
	case errors.Is(err, errUsage):
		fmt.Fprintf(errs, "%v\n\n%s", err, usage)
		return exitUsage
	}
	fmt.Fprintln(errs, "coterie-postgres:", err)
	return exitFailed
}

func dispatch(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: say what to do", errUsage)
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return flag.ErrHelp
	}
	verb, ok := verbs[args[0]]
	if !ok {
		return fmt.Errorf("%w: %q is unknown", errUsage, args[0])
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	typ := flags.String("type", "", "the entity type")
	dsn := flags.String("dsn", "", "the connection string")
	schema := flags.String("schema", postgres.SchemaDefault, "the schema")
	do := verb(flags)
	if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %s: %w", errUsage, args[0], err)
	}
	switch every := args[0] == "types"; {
	case every && *typ != "":
		return fmt.Errorf("%w: types is of every type: inspect takes a -type", errUsage)
	case !every && *typ == "":
		return fmt.Errorf("%w: %s: name a -type", errUsage, args[0])
	}
	s, err := open(ctx, *dsn, *schema)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(ctx, s, *typ, flags.Args(), out)
}

func open(ctx context.Context, dsn, schema string) (*postgres.Store, error) {
	pool, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: -dsn: %w", errUsage, err)
	}
	// Prepared: a schema that is not there is a mistake of the arguments, and must not be made.
	s, err := postgres.Open(ctx, postgres.Config{Pool: pool, Schema: schema, Prepared: true, Alone: true})
	if errors.Is(err, postgres.ErrInUse) {
		err = fmt.Errorf("%w; stop all nodes first, and end what a pooler has kept of them", err)
	}
	return s, err
}
