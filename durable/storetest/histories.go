package storetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/durable"
)

// history is a random run: what the store should hold, as maps.
type history struct {
	store  *Store
	tables []string
	model  map[string]map[string]string
}

// histories draws runs of commits, loads and reopenings.
func histories(t *testing.T, open func(t testing.TB) *Store) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{store: open(t), tables: []string{"a", "b"}, model: map[string]map[string]string{"a": {}, "b": {}}}
		rt.Repeat(map[string]func(*rapid.T){
			"commit": h.commit,
			"reopen": func(*rapid.T) { h.store.Env = h.store.Reopen(h.store.Env) },
			"":       h.check,
		})
		if err := h.store.Env.Close(); err != nil {
			rt.Fatalf("close: %v", err)
		}
	})
}

// commit queues several batches at once, so that they may share a transaction, and waits for them.
func (h *history) commit(t *rapid.T) {
	var answers []error
	for range rapid.IntRange(1, 5).Draw(t, "batches") {
		name := rapid.SampledFrom(h.tables).Draw(t, "table")
		rows := drawRows(t)
		h.apply(name, rows)
		h.store.table(t, name).Commit(rows, func(err error) { answers = append(answers, err) })
	}
	h.store.mustCommit(t, h.store.table(t, h.tables[0])) // answered after the others
	for _, err := range answers {
		if err != nil {
			t.Fatalf("commit: %v", err)
		}
	}
}

func drawRows(t *rapid.T) []durable.Row {
	rows := make([]durable.Row, rapid.IntRange(0, 8).Draw(t, "rows"))
	for i := range rows {
		key := fmt.Sprintf("key %02d", rapid.IntRange(0, 20).Draw(t, "key"))
		if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
			rows[i] = del(key)
			continue
		}
		size := rapid.SampledFrom([]int{1, 10, 3000, 9000}).Draw(t, "size")
		rows[i] = durable.Row{Key: []byte(key), Value: make([]byte, size)}
		rows[i].Value[0] = byte(rapid.IntRange(0, 255).Draw(t, "value"))
	}
	return rows
}

func (h *history) apply(name string, rows []durable.Row) {
	for _, r := range rows {
		if r.Value == nil {
			delete(h.model[name], string(r.Key))
		} else {
			h.model[name][string(r.Key)] = string(r.Value)
		}
	}
}

func (h *history) check(t *rapid.T) {
	for _, name := range h.tables {
		rows := []string{}
		for _, k := range slices.Sorted(maps.Keys(h.model[name])) {
			rows = append(rows, k+"="+h.model[name][k])
		}
		want(t, h.store.table(t, name), rows...)
	}
}
