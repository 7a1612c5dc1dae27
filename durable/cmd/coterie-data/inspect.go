package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

func inspectVerb(flags *flag.FlagSet) func(string, io.Writer) error {
	keys := flags.Int("keys", 10, "how many keys to list, the largest first; negative: all")
	return func(dir string, out io.Writer) error {
		return withDir(dir, func(e *lmdb.Env, c lmdb.Contents) error {
			fmt.Fprintf(out, "dir=%s disk=%016x format=%d store=%v file_bytes=%d free_bytes=%d\n",
				e.Dir(), c.ID, c.Format, c.Store, c.File, c.Free)
			describeRecord(out, e.Note())
			for _, name := range c.Tables {
				if _, ours := rows.Dataset(name); !ours {
					fmt.Fprintf(out, "table=%s of another program\n", name)
				}
			}
			return eachReplica(e, c, func(set keyspace.Dataset, t durable.Table) error {
				s, err := rows.Inspect(t)
				if err != nil {
					return fmt.Errorf("%s: %v: %w; coterie-data verify looks at all tables", e.Dir(), set, err)
				}
				describeTable(out, set, s, *keys)
				return nil
			})
		})
	}
}

func describeRecord(out io.Writer, kept []byte) {
	if len(kept) == 0 {
		fmt.Fprintln(out, "view: the node was in no cluster")
		return
	}
	text, err := record.Describe(kept)
	if err != nil {
		text = fmt.Sprintf("%d bytes that can not be read: %v", len(kept), err)
	}
	fmt.Fprintln(out, "view:", text)
}

func describeTable(out io.Writer, set keyspace.Dataset, s rows.Summary, keys int) {
	if s.Clock == nil {
		fmt.Fprintf(out, "table=%s role=%s data=%s space=durable rows=0\n", rows.Table(set), set.Role, set.Kind())
		return
	}
	origins, last := 0, crdt.Origin(0)
	for r := range s.Clock.Ranges() {
		if origins == 0 || r.Origin != last {
			origins++
		}
		last = r.Origin
	}
	fmt.Fprintf(out, "table=%s role=%s data=%s space=durable rows=%d row_bytes=%d keys=%d events=%d origins=%d "+
		"digest=%v\n",
		rows.Table(set), set.Role, set.Kind(), s.Items, s.Bytes, len(s.Keys), s.Clock.Len(), origins, s.Digest)
	describeGroups(out, "type", s.Keys, func(k rows.Key) string { return kindsOf(k) })
	describeGroups(out, "remembered", s.Keys, entityType)
	largest := slices.SortedStableFunc(slices.Values(s.Keys), func(a, b rows.Key) int {
		return cmp.Compare(b.Bytes, a.Bytes)
	})
	if keys >= 0 && len(largest) > keys {
		largest = largest[:keys]
	}
	for _, k := range largest {
		fmt.Fprintf(out, "  key=%q type=%s rows=%d bytes=%d\n", k.Name, kindsOf(k), k.Items, k.Bytes)
	}
	if n := len(s.Keys) - len(largest); n > 0 {
		fmt.Fprintf(out, "  and %d smaller keys; -keys lists more\n", n)
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
func describeGroups(out io.Writer, what string, keys []rows.Key, nameOf func(rows.Key) string) {
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
		fmt.Fprintf(out, "  %s=%s keys=%d rows=%d bytes=%d\n", what, name, s.keys, s.items, s.bytes)
	}
}
