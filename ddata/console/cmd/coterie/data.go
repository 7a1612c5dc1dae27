package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

const dataUsage = `coterie data looks after the directory of a node that is not running. It refuses, with the
process id, while a process holds the directory.

  coterie data inspect [-keys N] DIR           the node, its last view, its tables, and what they hold
  coterie data verify DIR                      read every row; exit code 1 when clock and digest do not agree
  coterie data compact DIR                     write the file anew without its free pages
  coterie data remove [-n] [-role NAME] -type NAME... -key PATTERN... DIR
                                               forget the remembered entities of the types, and what is
                                               under the keys; -n only counts
  coterie data help                            this text

What is removed is removed for the whole cluster: the other nodes take it over when this one is back, unless
they have written it anew. To remove everything of a type, stop all nodes that use it and run the command on
each directory. -type and -key take one or more, up to the next flag or the directory, and may be given several
times; a pattern is one of Config.DurableKeys, with stars. It names keys of users; those of entity types begin
with "sharding/", and are named by a pattern that does, too. A pattern that is written as the nodes have it in
Config.DurableKeys is also taken off the keys on which the cluster has agreed that they are durable; it stays
one of them until that was done on each directory. With -role only data of that role goes, and the patterns
taken off are those of Config.PerRole[NAME].DurableKeys. A type of which nothing is remembered here is named beside
those of which something is, and so is a pattern that matches nothing; the rest is removed all the same, and the
exit code is 0, so that a removal can be repeated.

-json, before or after the verb, prints one JSON object a line. On a terminal long work shows how far it is.

For example: coterie data remove -type Cart Shop DIR
`

// job is what a verb does with a directory.
type job func(dir string, w world) error

// world is where a job prints to.
type world struct {
	*printer
	bars bars
}

// verbs are what data can do. Each adds its flags to a set.
var verbs = map[string]func(*flag.FlagSet) job{
	"inspect": inspectVerb,
	"verify":  verifyVerb,
	"compact": compactVerb,
	"remove":  removeVerb,
}

func addJSON(flags *flag.FlagSet, json *bool) {
	flags.BoolVar(json, "json", *json, "print JSON, for programs")
}

func dataVerbs() []string { return append(slices.Sorted(maps.Keys(verbs)), "help") }

func dataCommand(flags *flag.FlagSet) task {
	json := false
	addJSON(flags, &json)
	return func(_ context.Context, c stdio, args []string) error {
		return data(args, c, json)
	}
}

func data(args []string, c stdio, json bool) error {
	switch args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(c.out, dataUsage)
		return nil
	}
	verb, ok := verbs[args[0]]
	if !ok {
		return fmt.Errorf("%w: data: %q is unknown", errUsage, args[0])
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	addJSON(flags, &json)
	do := verb(flags)
	if err := flags.Parse(spread(flags, args[1:])); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(c.out, dataUsage)
		return nil
	} else if err != nil {
		return fmt.Errorf("%w: data %s: %w", errUsage, args[0], err)
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("%w: data %s: give one directory, behind the flags", errUsage, args[0])
	}
	w := world{&printer{out: c.out, json: json}, bars{out: c.errs, on: c.terminal}}
	return do(flags.Arg(0), w)
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

// eachReplica calls fn with every table of a replica and its dataset. To read a table moves a bar.
func (w world) eachReplica(e *lmdb.Env, c lmdb.Contents, fn func(set keyspace.Dataset, t durable.Table) error) error {
	for _, name := range c.Tables {
		set, ok := rows.Dataset(name)
		if !ok {
			continue
		}
		t, err := e.Table(name)
		if err != nil {
			return err
		}
		if err := fn(set, w.bars.reading(set.String(), c.File-c.Free, t)); err != nil {
			return err
		}
	}
	return nil
}

func verifyVerb(*flag.FlagSet) job {
	return func(dir string, w world) error {
		return withDir(dir, func(e *lmdb.Env, c lmdb.Contents) error {
			damaged := 0
			err := w.eachReplica(e, c, func(set keyspace.Dataset, t durable.Table) error {
				s, err := rows.Verify(t)
				if err != nil {
					damaged++
					w.say("role", set.Role, "data", set.Kind(), "ok", false, "damaged", err.Error())
					return nil
				}
				w.say("role", set.Role, "data", set.Kind(), "ok", true, "rows", s.Items, "digest", s.Digest.String())
				return nil
			})
			if err == nil && damaged > 0 {
				err = fmt.Errorf("%s: %d of the tables are damaged; put back a copy of the directory, or remove it "+
					"so that the node starts from empty and fetches everything from its peers",
					e.Dir(), damaged)
			}
			if err == nil && !c.Store {
				w.say("note", "no store: no durable key was ever written")
			}
			return err
		})
	}
}

func compactVerb(*flag.FlagSet) job {
	return func(dir string, w world) error {
		stop := w.bars.compacting(dir)
		c, err := lmdb.Compact(dir, lmdb.Options{})
		stop()
		if err != nil {
			return err
		}
		w.say("file", c.File, "before_bytes", c.Before, "after_bytes", c.After)
		return nil
	}
}
