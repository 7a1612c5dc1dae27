package lmdb

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/durable"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// What is stored does not change, and what format 1 has stored can be read.
func TestFormat(t *testing.T) {
	const path = "testdata/format1.txt"
	s := mustOpen(t, t.TempDir())
	fill(t, s)
	var b strings.Builder
	for _, r := range s.rows(t) {
		fmt.Fprintf(&b, "%x %x\n", r.Key, r.Value)
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(golden) {
		t.Errorf("stored\n%s\nwant\n%s", b.String(), golden)
	}
	old := mustOpen(t, filepath.Join(t.TempDir(), "old"))
	for line := range strings.Lines(string(golden)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		k, err := hex.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		v, err := hex.DecodeString(value)
		if err != nil {
			t.Fatal(err)
		}
		old.put(t, durable.Row{Key: k, Value: v})
	}
	if err := readAll(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	got, err := old.bodies("e")
	if err != nil || strings.Join(got, " ") != "1 2" {
		t.Errorf("%q %v", got, err)
	}
}
