package main

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

func inspectVerb(flags *flag.FlagSet) job {
	keys := flags.Int("keys", 10, "how many keys to list, the largest first; negative: all")
	return func(dir string, w world) error {
		return withDir(dir, func(e *lmdb.Env, c lmdb.Contents) error {
			w.say("dir", e.Dir(), "disk", fmt.Sprintf("%016x", c.ID), "format", c.Format, "store", c.Store,
				"file_bytes", c.File, "free_bytes", c.Free)
			w.describeRecord(e.Note())
			for _, name := range c.Tables {
				if _, ours := rows.Dataset(name); !ours {
					w.say("table", name, "note", "of another program")
				}
			}
			return w.eachReplica(e, c, func(set keyspace.Dataset, t durable.Table) error {
				s, err := rows.Inspect(t)
				if err != nil {
					return fmt.Errorf("%s: %v: %w; coterie data verify looks at all tables", e.Dir(), set, err)
				}
				w.describeTable(set, s, *keys)
				return nil
			})
		})
	}
}

func (w world) describeRecord(kept []byte) {
	if len(kept) == 0 {
		w.say("view", "the node was in no cluster")
		return
	}
	text, err := record.Describe(kept)
	if err != nil {
		text = fmt.Sprintf("%d bytes that can not be read: %v", len(kept), err)
	}
	w.say("view", text)
}

func (w world) describeTable(set keyspace.Dataset, s rows.Summary, keys int) {
	if s.Clock == nil {
		w.say("table", rows.Table(set), "role", set.Role, "data", set.Kind(), "space", "durable", "rows", 0)
		return
	}
	origins := 0
	for range s.Clock.Rows(0) {
		origins++
	}
	w.say("table", rows.Table(set), "role", set.Role, "data", set.Kind(), "space", "durable", "rows", s.Items,
		"row_bytes", s.Bytes, "keys", len(s.Keys), "events", s.Clock.Len(), "origins", origins,
		"digest", s.Digest.String())
	w.describeGroups("type", s.Keys, func(k rows.Key) string { return kindsOf(k) })
	w.describeGroups("remembered", s.Keys, entityType)
	largest := slices.SortedStableFunc(slices.Values(s.Keys), func(a, b rows.Key) int {
		return cmp.Compare(b.Bytes, a.Bytes)
	})
	if keys >= 0 && len(largest) > keys {
		largest = largest[:keys]
	}
	for _, k := range largest {
		w.say("key", k.Name, "type", kindsOf(k), "rows", k.Items, "bytes", k.Bytes)
	}
	if n := len(s.Keys) - len(largest); n > 0 {
		w.say("smaller_keys", n, "note", "-keys lists more")
	}
}

// kindsOf names the data types that a key holds: one, or several that clash.
func kindsOf(k rows.Key) string {
	var names []string
	for _, kind := range k.Kinds {
		names = append(names, kind.String())
	}
	return strings.Join(names, "+")
}

// describeGroups sums the keys up by a name, "" for those that belong to none.
func (w world) describeGroups(what string, keys []rows.Key, nameOf func(rows.Key) string) {
	type sum struct {
		keys, items int
		bytes       int64
	}
	sums := map[string]*sum{}
	var names []string
	for _, k := range keys {
		name := nameOf(k)
		if name == "" {
			continue
		}
		if sums[name] == nil {
			sums[name] = &sum{}
			names = append(names, name)
		}
		s := sums[name]
		s.keys, s.items, s.bytes = s.keys+1, s.items+k.Items, s.bytes+k.Bytes
	}
	slices.Sort(names)
	for _, name := range names {
		s := sums[name]
		w.say(what, name, "keys", s.keys, "rows", s.items, "bytes", s.bytes)
	}
}
