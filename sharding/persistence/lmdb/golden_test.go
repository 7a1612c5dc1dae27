package lmdb

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/golden"
)

// What is stored does not change, and what format 1 has stored can be read.
func TestFormat(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	fill(t, s)
	var samples []golden.Sample
	for _, r := range s.rows(t) {
		samples = append(samples, golden.Sample{Name: hex.EncodeToString(r.Key), Bytes: r.Value})
	}
	golden.Formats(t, samples)
	old := mustOpen(t, filepath.Join(t.TempDir(), "old"))
	for _, line := range golden.Stored(t, format.Initial) {
		k, err := hex.DecodeString(line.Name)
		if err != nil {
			t.Fatal(err)
		}
		old.put(t, durable.Row{Key: k, Value: line.Bytes})
	}
	if err := readAll(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	got, err := old.bodies("e")
	if err != nil || strings.Join(got, " ") != "1 2" {
		t.Errorf("%q %v", got, err)
	}
}
