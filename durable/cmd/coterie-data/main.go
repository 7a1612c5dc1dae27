// Command coterie-data looks after the directory of a node that is not running. It refuses, with
// the process id, while a process holds the directory.
//
//	coterie-data inspect [-keys N] DIR           the node's identity, its last view, its tables, and what they hold
//	coterie-data verify DIR                      read every row; exit code 1 when clock and digest do not agree
//	coterie-data compact DIR                     write the file anew without its free pages
//	coterie-data remove [-n] -type NAME… -key PATTERN… DIR
//	                                             forget the remembered entities of the types, and what is under the keys
//
// What is removed is removed for the whole cluster: the other nodes take it over when this one is
// back, unless they have written it anew. To remove everything of a type, stop all nodes that use
// it and run the command on each directory. -type and -key take one or more, up to the next flag or
// the directory, and may be given several times; a pattern is one of Config.DurableKeys, with
// stars. It names keys of users; the keys of entity types begin with "sharding/", and are named by a
// pattern that does, too. A pattern that is written as the nodes have it in Config.DurableKeys is also taken off the
// keys on which the cluster has agreed that they are durable; it stays one of them until that was
// done on each directory. -n only counts. A type of which nothing is remembered here is named
// beside those of which something is, and so is a pattern that matches nothing; the rest is removed
// all the same, and the exit code is 0, so that a removal can be repeated.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

const usage = `coterie-data looks after the directory of a node that is not running.

  coterie-data inspect [-keys N] DIR           the node, its last view, its tables, and what they hold
  coterie-data verify DIR                      read every row; exit code 1 when clock and digest do not agree
  coterie-data compact DIR                     write the file anew without its free pages
  coterie-data remove [-n] -type NAME... -key PATTERN... DIR
                                               forget the remembered entities of the types, and what is
                                               under the keys; -n only counts
  coterie-data help                            this text

For example: coterie-data remove -type Cart Shop DIR
`

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// errUsage is a mistake in the arguments.
var errUsage = errors.New("usage")

// verbs are what the command can do. Each adds its flags to a set and returns what to do with a
// directory afterwards.
var verbs = map[string]func(*flag.FlagSet) func(dir string, out io.Writer) error{
	"inspect": inspectVerb,
	"verify":  verifyVerb,
	"compact": compactVerb,
	"remove":  removeVerb,
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	err := dispatch(args, out)
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
	fmt.Fprintln(errs, "coterie-data:", err)
	return exitFailed
}

func dispatch(args []string, out io.Writer) error {
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
	do := verb(flags)
	if err := flags.Parse(spread(flags, args[1:])); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %s: %w", errUsage, args[0], err)
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%w: %s: give one directory, behind the flags", errUsage, args[0])
	}
	return do(flags.Arg(0), out)
}

// spread repeats a flag that is a list before each of the words behind it: "-type Cart Shop DIR" is
// "-type Cart -type Shop DIR".
func spread(flags *flag.FlagSet, args []string) (out []string) {
	behind := "" // the list that is being given
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch name, _, whole := strings.Cut(strings.TrimLeft(word, "-"), "="); {
		case strings.HasPrefix(word, "-"):
			behind = ""
			if f := flags.Lookup(name); f != nil {
				if _, many := f.Value.(*list); many {
					behind = "-" + name
					if !whole && i+1 < len(args) {
						out = append(out, word)
						i++
						word = args[i]
					}
				}
			}
		case behind != "" && i < len(args)-1: // the last is the directory
			out = append(out, behind)
		}
		out = append(out, word)
	}
	return out
}

// withDir opens a directory for one job.
func withDir(dir string, job func(*lmdb.Env, lmdb.Contents) error) error {
	e, err := lmdb.OpenExisting(dir, lmdb.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	c, err := e.Contents()
	if err != nil {
		return err
	}
	return job(e, c)
}

// eachReplica calls fn with every table of a replica and its dataset.
func eachReplica(e *lmdb.Env, c lmdb.Contents, fn func(set keyspace.Dataset, t durable.Table) error) error {
	for _, name := range c.Tables {
		set, ok := rows.Dataset(name)
		if !ok {
			continue
		}
		t, err := e.Table(name)
		if err != nil {
			return err
		}
		if err := fn(set, t); err != nil {
			return err
		}
	}
	return nil
}

func verifyVerb(*flag.FlagSet) func(string, io.Writer) error {
	return func(dir string, out io.Writer) error {
		return withDir(dir, func(e *lmdb.Env, c lmdb.Contents) error {
			damaged := 0
			err := eachReplica(e, c, func(set keyspace.Dataset, t durable.Table) error {
				s, err := rows.Verify(t)
				if err != nil {
					damaged++
					fmt.Fprintf(out, "role=%s data=%s damaged: %v\n", set.Role, set.Kind(), err)
					return nil
				}
				fmt.Fprintf(out, "role=%s data=%s ok rows=%d digest=%v\n", set.Role, set.Kind(), s.Items, s.Digest)
				return nil
			})
			if err == nil && damaged > 0 {
				err = fmt.Errorf("%s: %d of the tables are damaged; put back a copy of the directory, or remove it "+
					"so that the node starts from empty and fetches everything from its peers",
					e.Dir(), damaged)
			}
			if err == nil && !c.Store {
				fmt.Fprintln(out, "no store: no durable key was ever written")
			}
			return err
		})
	}
}

func compactVerb(*flag.FlagSet) func(string, io.Writer) error {
	return func(dir string, out io.Writer) error {
		c, err := lmdb.Compact(dir, lmdb.Options{})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "file=%s before_bytes=%d after_bytes=%d\n", c.File, c.Before, c.After)
		return nil
	}
}
