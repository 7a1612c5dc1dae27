package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

// Set implements flag.Value.
func (l *list) Set(s string) error {
	if s == "" {
		return errors.New("is empty")
	}
	*l = append(*l, s)
	return nil
}

// what names what is to be removed.
type what struct {
	types list // entity types, of which the remembered ids go
	keys  list // patterns
}

func (w *what) match(key string) bool {
	return slices.ContainsFunc(w.types, func(typ string) bool { return strings.HasPrefix(key, protocol.DurablePrefix(typ)) }) ||
		slices.ContainsFunc(w.keys, func(pattern string) bool { return replicator.MatchKey(pattern, key) })
}

// entityType is the type whose remembered entities a key holds, "" when it is another key.
func entityType(k rows.Key) string {
	rest, ok := strings.CutPrefix(k.Name, "sharding/")
	if !ok {
		return ""
	}
	if i := strings.LastIndex(rest, "/ids/"); i > 0 && strings.HasPrefix(k.Name, protocol.DurablePrefix(rest[:i])) {
		return rest[:i]
	}
	return ""
}

func removeVerb(flags *flag.FlagSet) func(string, io.Writer) error {
	var w what
	flags.Var(&w.types, "type", "an entity type whose remembered entities are to be forgotten")
	flags.Var(&w.keys, "key", "a durable key, or a pattern with stars")
	dry := flags.Bool("n", false, "only count")
	return func(dir string, out io.Writer) error {
		if len(w.types)+len(w.keys) == 0 {
			return fmt.Errorf("%w: remove: name a -type or a -key", errUsage)
		}
		return withDir(dir, func(e *lmdb.Env, c lmdb.Contents) error {
			if err := w.known(e, c); err != nil {
				return err
			}
			var all rows.Removed
			err := eachReplica(e, c, func(role string, t durable.Table) error {
				r, err := w.remove(t, *dry)
				all.Keys, all.Items = all.Keys+r.Keys, all.Items+r.Items
				if err != nil {
					return fmt.Errorf("%s: role %q: %w", e.Dir(), role, err)
				}
				fmt.Fprintf(out, "role=%s keys=%d rows=%d %s\n", role, r.Keys, r.Items, done(*dry))
				return nil
			})
			if err == nil && all.Items == 0 {
				err = fmt.Errorf("%s: nothing matches; coterie-data inspect lists the keys", e.Dir())
			}
			return err
		})
	}
}

// known finds types of which no role remembers an entity: misspelt, most likely.
func (w *what) known(e *lmdb.Env, c lmdb.Contents) error {
	if len(w.types) == 0 {
		return nil
	}
	var there []string
	err := eachReplica(e, c, func(role string, t durable.Table) error {
		s, err := rows.Inspect(t)
		for _, k := range s.Keys {
			if typ := entityType(k); typ != "" && !slices.Contains(there, typ) {
				there = append(there, typ)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: role %q: %w", e.Dir(), role, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(there)
	for _, typ := range w.types {
		if !slices.Contains(there, typ) {
			return fmt.Errorf("%s: no entity of type %q is remembered here, nothing was removed; there are %s", e.Dir(), typ,
				cmp.Or(strings.Join(there, ", "), "none"))
		}
	}
	return nil
}

func done(dry bool) string {
	if dry {
		return "would be removed"
	}
	return "removed"
}

func (w *what) remove(t durable.Table, dry bool) (r rows.Removed, err error) {
	if !dry {
		return rows.Remove(t, crdt.Origin(rand.Uint64()|1), w.match)
	}
	s, err := rows.Verify(t)
	for _, k := range s.Keys {
		if w.match(k.Name) {
			r.Keys, r.Items = r.Keys+1, r.Items+k.Items
		}
	}
	return r, err
}
