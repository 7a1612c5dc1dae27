package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/bench/results"
)

// roleEnv makes this program a process that is measured.
const roleEnv = "COTERIE_PEERS_ROLE"

// Roles of a process of this program.
const (
	rawRole   = "raw"
	protoRole = "protoactor"
)

// selfAs is this program in a role.
func selfAs(ctx context.Context, role string, words []string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, self, words...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	return cmd
}

// played plays the role that the environment names, and reports whether there is one.
func played(words []string) bool {
	var err error
	switch os.Getenv(roleEnv) {
	case "":
		return false
	case rawRole:
		err = rawChild(words)
	case protoRole:
		err = protoChild(words)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	return true
}

func main() {
	if played(os.Args[1:]) {
		return
	}
	var o options
	flag.DurationVar(&o.d, "d", 2*time.Second, "how long each case runs")
	flag.DurationVar(&o.warm, "warm", 10*time.Second, "how long each case of a peer runs before that, unmeasured")
	flag.IntVar(&o.n, "n", 10_000, "remembered entities; ten times as many are weighed, and keys too")
	flag.DurationVar(&o.standing, "standing", time.Minute, "how long a process is stopped")
	only := flag.String("peers", "", "measure these peers only, with commas between: pekko, pekko-tuned, protoactor")
	limit := flag.Duration("timeout", time.Hour, "when to give up")
	file := flag.String("out", "", "write the rows to this `file`, too")
	flag.Parse()
	o.sets, o.watched = []int{10_000, 100_000}, 15*time.Second
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, flag.Args(), *only, *file); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1) //nolint:gocritic // nothing is left to do
	}
}

// run measures the groups that are named, or lists them.
func run(ctx context.Context, o options, names []string, only, file string) (err error) {
	gs, err := groupsOf(names)
	if err != nil {
		return err
	}
	if len(gs) == 0 {
		for _, g := range groups {
			fmt.Printf("%-14s %s\n", g.name, g.about)
		}
		return nil
	}
	out := io.Writer(os.Stdout)
	if file != "" {
		w, err := os.Create(file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		out = io.MultiWriter(out, w)
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := buildCoterie(ctx, dir)
	if err != nil {
		return err
	}
	m := measurement{coterie: c, out: out, o: o}
	fmt.Fprintln(out, c.origin(ctx))
	for _, line := range missingRows() {
		fmt.Fprintln(out, line)
	}
	for _, p := range peersOf(ctx) {
		if only == "" || slices.Contains(strings.Split(only, ","), p.name) {
			m.peers = append(m.peers, p)
		}
	}
	var errs []error
	for _, g := range gs {
		errs = append(errs, m.group(ctx, g))
	}
	return errors.Join(errs...)
}

// groupsOf are the groups of these names; all are all of them.
func groupsOf(names []string) (gs []group, err error) {
	if slices.Equal(names, []string{"all"}) {
		return groups, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no group %q; run without arguments for the list", name)
		}
		gs = append(gs, groups[i])
	}
	return gs, nil
}

// peersOf are all peers. One that cannot be run here has words for every group.
func peersOf(ctx context.Context) []*peer {
	java, err := buildPekko(ctx)
	return append(pekkoPeers(java, err), protoPeer)
}

// measurement measures groups, one after the other.
type measurement struct {
	coterie coterie
	peers   []*peer
	out     io.Writer
	o       options
}

// group prints a row of each work and peer. A peer that fails has words instead, and the others go on.
func (m measurement) group(ctx context.Context, g group) error {
	var own results.File
	fmt.Fprintf(os.Stderr, "%s %s: Coterie\n", time.Now().Format(time.TimeOnly), g.name)
	errs := []error{m.coterie.run(ctx, g.coterie(m.o), &own)}
	if g.raw != nil {
		errs = append(errs, g.raw(ctx, m.o, &own))
	}
	for _, p := range m.peers {
		if !p.measuredIn(g) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", time.Now().Format(time.TimeOnly), g.name, p.name)
		rows, err := m.rows(ctx, g, p, own)
		errs = append(errs, err)
		for _, r := range rows {
			fmt.Fprintln(m.out, r)
			if p.lacks[g.name] == "" && err == nil {
				errs = append(errs, r.faults())
			}
		}
	}
	return errors.Join(errs...)
}

// rows measures one peer.
func (m measurement) rows(ctx context.Context, g group, p *peer, own results.File) (rows []row, err error) {
	var got results.File
	words := p.lacks[g.name]
	if words == "" {
		ctx, cancel := context.WithTimeout(ctx, benchTime)
		defer cancel()
		if err = g.run(ctx, p, m.o, &got); err != nil {
			err = fmt.Errorf("%s of %s: %w", g.name, p.name, err)
			words = "it failed: " + err.Error()
		}
	}
	for _, w := range g.works(m.o) {
		r := row{work: w, by: p.name, coterie: coterieLine(own, w), peer: lineOf(got, "peer", w.peer), words: words}
		switch {
		case w.limit != "":
			r.limit = r.coterie
		case w.raw != "":
			r.limit = lineOf(own, "raw", w.raw)
		}
		rows = append(rows, r)
	}
	return rows, err
}
