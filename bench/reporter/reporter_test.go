package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/bench/results"
)

// sample is a result of two runs of two benches; of the second one nothing can be drawn.
func sample(t *testing.T) results.File {
	t.Helper()
	f := results.File{Runs: 2, Origin: results.Origin{
		At: time.Unix(0, 0), Command: []string{"bench", "tell"}, Commit: "0123", Modified: true, Go: "go1.26",
		OS: "linux", Arch: "amd64", Cores: 2, Memory: 3 << 29,
	}}
	for _, text := range []string{
		"bench=tell case=by-id per_s=1000 p50_us=0.5 limit_p50_us=0.1 ratio=0.2",
		"bench=tell case=by-id per_s=3000 p50_us=0.7 limit_p50_us=0.1 ratio=0.14",
		"bench=tell case=by<reference per_s=-1",
		"bench=idle case=equal bytes=0",
	} {
		l, ok := results.Parse(text)
		if !ok {
			t.Fatal(text)
		}
		f.Add(l)
	}
	return f
}

func TestShown(t *testing.T) {
	f := sample(t)
	own, base := shown(f.Cases[0])
	if own.Name != "p50_us" || base.Name != "limit_p50_us" {
		t.Errorf("%s beside %s, want the pair", own.Name, base.Name)
	}
	own, base = shown(f.Cases[2])
	if own.Name != "bytes" || base != nil {
		t.Errorf("%s, %v", own.Name, base)
	}
	if own, base = shown(results.Case{}); own != nil || base != nil {
		t.Errorf("%v, %v of nothing", own, base)
	}
}

// The report has a table of each bench, and a plot if there is something to draw, which is well-formed and names the
// cases.
func TestReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	in := filepath.Join(t.TempDir(), "results.json")
	w, err := os.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sample(t).WriteJSON(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := run(in, "", dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| commit | 0123, with changes |", "| processor | unknown, 2 cores |", "| memory | 1.5 GiB |", "## tell",
		"| by-id | per_s | 2,000 | 1,000 | 3,000 | 100 % |", "|  | p50_us | 0.6 | 0.5 | 0.7 | 33 % |", "](tell.svg)",
		"## idle", "| equal | bytes | 0 | 0 | 0 | 0 % |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, "tell.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(svg))); err != io.EOF; {
		if _, err = d.Token(); err != nil && err != io.EOF {
			t.Fatalf("%v\n%s", err, svg)
		}
	}
	for _, want := range []string{"by-id", "by&lt;reference", "p50_us", "baseline", "monospace"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("no %s in the plot\n%s", want, svg)
		}
	}
	_, err = os.Stat(filepath.Join(dir, "idle.svg"))
	if !errors.Is(err, os.ErrNotExist) || strings.Contains(string(page), "idle.svg") {
		t.Errorf("a plot of nothing: %v", err)
	}
}

// The rows of peers have a table of their own, with what they say in words. Lines of others do not come into it.
func TestPeers(t *testing.T) {
	dir := t.TempDir()
	in, beside := filepath.Join(dir, "results.json"), filepath.Join(dir, "peers.txt")
	w, err := os.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sample(t).WriteJSON(w), w.Close(), os.WriteFile(beside, []byte(`# 2026-11-28; git: 0123
bench=peers case=ask/other coterie_ops_per_s=2000.00 peer_ops_per_s=100.00 limit_ops_per_s=4000.00 `+
		`ratio_peer=20 ratio_limit=0.5 peer_ratio_limit=0.025 coterie_p50_us=5.00 peer_p50_us=7.00
bench=peers case=set/other coterie_ns=3.00 words="it has \"no\" sets"
bench=tell case=by-id per_s=77
`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := run(in, beside, dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Peers", "2026-11-28; git: 0123",
		"| ask | other | ops_per_s | 2,000 | 100 | 4,000 | 20 | 0.5 | 0.025 | coterie_p50_us 5; peer_p50_us 7 |",
		"| set | other | ns | 3 |  |  |  |  |  | it has \"no\" sets |",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if strings.Contains(string(page), "77") {
		t.Error("a line of another bench is among the rows")
	}
	if p, err := readPeers(filepath.Join(dir, "missing")); err != nil || len(p.rows) != 0 {
		t.Errorf("%v, %v of a missing file", p, err)
	}
	if err := run(in, dir, dir); err == nil {
		t.Error("a folder has rows of peers")
	}
}

func TestNoResults(t *testing.T) {
	in := filepath.Join(t.TempDir(), "results.json")
	for text, says := range map[string]string{"": "no result", "{}": "no case", "[]": "no result"} {
		if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(in, "", t.TempDir()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 12: "12", 1234: "1,234", 1234567.891: "1,234,567.89", -1500: "-1,500", 0.5: "0.5", 0.001: "0.001",
		0.0024612: "0.00246", -12.25: "-12.25",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
