package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coterie-go/coterie/bench/results"
)

// built is Coterie's benches, and why there are none.
var built struct {
	coterie
	err error
}

// TestMain is also a process of a peer, and of the raw limits.
func TestMain(m *testing.M) {
	if played(os.Args[1:]) {
		return
	}
	dir, err := os.MkdirTemp("", "peers-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.coterie, built.err = buildCoterie(context.Background(), dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// small are loads below a second.
var small = options{
	d: 200 * time.Millisecond, warm: 200 * time.Millisecond, n: 1000, sets: []int{1000}, standing: 6 * time.Second,
	watched: time.Second,
}

// measured runs a group with Coterie, the raw limits and some peers. It fails if a figure is missing, or 0.
func measured(t *testing.T, g group, peers ...*peer) {
	t.Helper()
	if built.err != nil {
		t.Fatal(built.err)
	}
	out := &strings.Builder{}
	m := measurement{coterie: built.coterie, peers: peers, out: out, o: small}
	if err := m.group(t.Context(), g); err != nil {
		t.Error(err)
	}
	t.Log("\n" + out.String())
	rows := 0
	for line := range strings.Lines(out.String()) {
		if l, ok := results.Parse(line); ok && l.Bench == "peers" {
			rows++
		}
	}
	want := 0
	for _, p := range peers {
		if p.measuredIn(g) {
			want += len(g.works(small))
		}
	}
	if rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

// Each group that protoactor-go has is measured, and of the others its rows say why not.
func TestPeerProto(t *testing.T) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			if testing.Short() && (g.name == "failover" || g.name == "pause") {
				t.Skip("NOT TRIED with -short: ", g.name, " takes a minute") // skip: time, not a part of the machine
			}
			if words := protoPeer.lacks[g.name]; words != "" {
				for _, line := range refusedRows(protoPeer, words, []group{g}, small) {
					if !strings.Contains(line, words) {
						t.Errorf("%s does not say %q", line, words)
					}
				}
				return
			}
			measured(t, g, protoPeer)
		})
	}
}

// Each group is measured of Pekko, with its defaults and with shorter timers.
func TestPeerPekko(t *testing.T) {
	if testing.Short() && !javaProgram.Required() {
		t.Skip("NOT TRIED with -short: Apache Pekko; ", requirePekko, "=1 tries it") // skip: Maven loads what it needs
	}
	j, err := buildPekko(t.Context())
	switch {
	case err != nil && javaProgram.Required():
		t.Fatal(err)
	case err != nil:
		t.Skip("NOT TRIED: Apache Pekko. ", err) // skip: the machine may lack Java, Maven, or what Maven loads
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			var peers []*peer
			for _, p := range pekkoPeers(j, nil) {
				if (g.name != "failover" && g.name != "pause") || p.name == "pekko-tuned" { // defaults take longer
					peers = append(peers, p)
				}
			}
			measured(t, g, peers...)
		})
	}
}

// A peer that cannot be built has rows that say so.
func TestMissingPeer(t *testing.T) {
	for _, p := range pekkoPeers(java{}, errNoJava) {
		for _, g := range groups {
			for _, w := range g.works(small) {
				line := row{work: w, by: p.name, words: p.lacks[g.name]}.String()
				if !strings.Contains(line, "not tried: java and mvn were not found") {
					t.Errorf("no reason in %s", line)
				}
			}
		}
	}
	for _, line := range missingRows() {
		if l, ok := results.Parse(line); !ok || len(l.Figures) != 0 || !strings.Contains(line, rowWords) {
			t.Errorf("%s has figures, or no words", line)
		}
	}
}

// A ratio above 1 says that Coterie does better, of rates and of costs.
func TestRow(t *testing.T) {
	rate := row{
		work: work{name: "ask", figure: "ops_per_s", limit: "limit_ops_per_s", more: []string{"p50_us"}}, by: "other",
		coterie: found{"ops_per_s": 200, "limit_ops_per_s": 400, "p50_us": 5},
		peer:    found{"ops_per_s": 100, "p50_us": 7}, limit: found{"limit_ops_per_s": 400},
	}
	want := "bench=peers case=ask/other coterie_ops_per_s=200 peer_ops_per_s=100 limit_ops_per_s=400 " +
		"ratio_peer=2 ratio_limit=0.5 peer_ratio_limit=0.25 coterie_p50_us=5 peer_p50_us=7"
	if got := rate.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := rate.faults(); err != nil {
		t.Error(err)
	}
	cost := row{
		work: work{name: "restart", figure: "restart_seconds", raw: "remember", cost: true}, by: "other",
		coterie: found{"restart_seconds": 2}, peer: found{"restart_seconds": 6}, limit: found{"restart_seconds": 1},
		words: "as \"words\"",
	}
	want = "bench=peers case=restart/other coterie_restart_seconds=2 peer_restart_seconds=6 " +
		"limit_restart_seconds=1 ratio_peer=3 ratio_limit=0.5 peer_ratio_limit=0.167 words=\"as \\\"words\\\"\""
	if got := cost.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Nothing that is missing, or 0, passes for a figure.
func TestFaults(t *testing.T) {
	w := work{name: "ask", figure: "ops_per_s", limit: "limit_ops_per_s"}
	whole, none := found{"ops_per_s": 1, "limit_ops_per_s": 1}, found{"ops_per_s": 0}
	for name, r := range map[string]row{
		"Coterie": {work: w, coterie: none, peer: whole, limit: whole}, "peer": {work: w, coterie: whole, limit: whole},
		"limit": {work: w, coterie: whole, peer: whole, limit: none},
	} {
		if r.faults() == nil {
			t.Errorf("%s has no figure, and that is no fault", name)
		}
	}
}

// A process that stands still ends with its context, and one that fails is seen to have ended.
func TestChildEnds(t *testing.T) {
	raw := &peer{name: rawRole, command: selfAsRaw}
	c, err := raw.start(t.Context(), "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.expect(t.Context(), "up", nil); err == nil {
		t.Error("it connected where nothing listens")
	}
	c.end()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if c, err = raw.start(ctx, l.Addr()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.expect(t.Context(), "up", nil), c.signal(syscall.SIGSTOP)); err != nil {
		t.Fatal(err)
	}
	cancel()
	c.end()
	if err := c.signal(syscall.SIGCONT); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the group is still there: %v", err)
	}
}
