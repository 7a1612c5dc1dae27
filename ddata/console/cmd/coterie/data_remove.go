package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
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

// what names what must be removed.
type what struct {
	types list   // entity types, of which the remembered ids go
	keys  list   // patterns
	role  string // only data of it; empty: of every role
}

// eachReplica calls f for each Replicator's data of which something may go.
func (x *what) eachReplica(
	e *lmdb.Env, c lmdb.Contents, w world, f func(set keyspace.Dataset, t durable.Table) error,
) error {
	return w.eachReplica(e, c, func(set keyspace.Dataset, t durable.Table) error {
		if x.role != "" && set.Role != x.role {
			return nil
		}
		return f(set, t)
	})
}

// agreed are the patterns as the cluster has agreed on them.
func (x *what) agreed() (patterns []string) {
	for _, p := range x.keys {
		if x.role != "" {
			p = view.OfRole(x.role, p)
		}
		patterns = append(patterns, p)
	}
	return patterns
}

func (x *what) match(key string) bool {
	return slices.ContainsFunc(x.types, func(typ string) bool {
		return strings.HasPrefix(key, protocol.DurablePrefix(typ))
	}) ||
		slices.ContainsFunc(x.keys, func(pattern string) bool { return matches(pattern, key) })
}

// matches reports whether a pattern names a key, as it does for the nodes: "*" names no reserved one.
func matches(pattern, key string) bool {
	return keyspace.IsReserved(pattern) == keyspace.IsReserved(key) && keyspace.Match(pattern, key)
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

func removeVerb(flags *flag.FlagSet) job {
	var x what
	flags.Var(&x.types, "type", "an entity type; its remembered entities are forgotten")
	flags.Var(&x.keys, "key", "a durable key, or a pattern with stars")
	flags.StringVar(&x.role, "role", "", "only data of this role, and patterns of its roles.Config.DurableKeys")
	dry := flags.Bool("n", false, "only count")
	return func(dir string, w world) error {
		if len(x.types)+len(x.keys) == 0 {
			return fmt.Errorf("%w: data remove: name a -type or a -key", errUsage)
		}
		return withDir(dir, func(e *lmdb.Env, c lmdb.Contents) error {
			if err := x.tellMissing(e, c, w); err != nil {
				return err
			}
			err := x.eachReplica(e, c, w, func(set keyspace.Dataset, t durable.Table) error {
				r, err := x.remove(t, originOn(e), *dry)
				if err != nil {
					return fmt.Errorf("%s: %v: %w", e.Dir(), set, err)
				}
				w.say("role", set.Role, "data", set.Kind(), "keys", r.Keys, "rows", r.Items, "removed", !*dry)
				return nil
			})
			if err != nil {
				return err
			}
			return x.forgetPatterns(e, *dry, w)
		})
	}
}

// forgetPatterns takes the patterns off the durable keys on which the cluster has agreed. It does
// so last: while there are rows, the keys stay durable.
func (x *what) forgetPatterns(e *lmdb.Env, dry bool, w world) error {
	if len(x.keys) == 0 || len(e.Note()) == 0 {
		return nil
	}
	without, found, err := record.ForgetKeys(e.Note(), x.agreed())
	if err != nil {
		w.say("patterns", []string(x.keys), "note", fmt.Sprintf("the cluster may go on to agree on them: %v", err))
		return nil
	}
	x.tellOthers(e.Note(), w)
	if len(found) == 0 {
		return nil
	}
	if !dry {
		if err := e.SetNote(without); err != nil {
			return err
		}
	}
	w.say("patterns", view.Shown(found), "removed", !dry, "note", "durable until every directory of the cluster is "+
		"without them, and no Config names them")
	return nil
}

// tellOthers names the patterns that stay because the cluster has agreed on them for other roles than -role says.
func (x *what) tellOthers(note []byte, w world) {
	r, err := record.Decode(note)
	if err != nil || r.Last == nil {
		return
	}
	for _, p := range view.MergePatterns(r.Last.Durable, r.Last.Moving) {
		shown := view.Shown([]string{p})[0]
		for _, key := range x.keys {
			all, one := shown == key, strings.HasPrefix(shown, key+" of role ")
			switch {
			case all && x.role != "":
				w.say("patterns", shown, "note", "stays: it is agreed on for all roles; leave -role away")
			case one && p != view.OfRole(x.role, key):
				w.say("patterns", shown, "note", "stays: give -role with this role")
			}
		}
	}
}

// tellMissing names the types and the patterns of which nothing is here: they are misspelt, or were
// removed before. That is no error, so that a removal of several, or of one on several directories,
// can be repeated until it has succeeded everywhere.
func (x *what) tellMissing(e *lmdb.Env, c lmdb.Contents, w world) error {
	var there []string
	missing := slices.Clone(x.keys)
	err := x.eachReplica(e, c, w, func(set keyspace.Dataset, t durable.Table) error {
		s, err := rows.Inspect(t)
		for _, k := range s.Keys {
			missing = slices.DeleteFunc(missing, func(pattern string) bool { return matches(pattern, k.Name) })
			if typ := entityType(k); typ != "" && !slices.Contains(there, typ) {
				there = append(there, typ)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %v: %w", e.Dir(), set, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(there)
	for _, typ := range x.types {
		if !slices.Contains(there, typ) {
			w.say("type", typ, "note", "no entity of it is remembered here; there are "+
				cmp.Or(strings.Join(there, ", "), "none"))
		}
	}
	for _, pattern := range missing {
		w.say("key", pattern, "note", "nothing matches; coterie data inspect lists the keys")
	}
	return nil
}

// originOn draws the origin of removals on a directory: it must not be that of an incarnation that is over, of
// which other nodes have all events.
func originOn(e *lmdb.Env) crdt.Origin {
	r, _ := record.Decode(e.Note()) // none, or one that a node will refuse
	return crdt.Origin(view.DrawUID(time.Now(), r.Least(), rand.Uint64()))
}

func (x *what) remove(t durable.Table, origin crdt.Origin, dry bool) (r rows.Removed, err error) {
	if !dry {
		return rows.Remove(t, origin, x.match)
	}
	s, err := rows.Verify(t)
	for _, k := range s.Keys {
		if x.match(k.Name) {
			r.Keys, r.Items = r.Keys+1, r.Items+k.Items
		}
	}
	return r, err
}
