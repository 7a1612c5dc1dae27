// Command speed compares how fast this tree's simulator is with how fast the one of an earlier commit
// is. It builds both, and has them play the same seeds in turns, on all processors as make soak does.
//
//	speed                    beside the last commit; the one before it, if nothing was changed since
//	speed -base 9901c35      beside another commit
//	speed -workers 1         one world at a time: the other processors are free for the collector, and
//	                         the caches are this world's alone
//
// A line has the events of a second of processor time, of all worlds of a plan, and the ratio to the
// base: that of all rounds together, and the least and the greatest of one. Processor time holds better
// than time where others use the machine, too. Where a commit has changed what happens in a world, an
// event of the one is not that of the other, and a seed is another world: take many seeds.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/proptest/sim/options"
)

func main() {
	base := flag.String("base", "", "the commit to compare with")
	seeds := flag.Int("seeds", 6, "seeds of each plan in each round")
	rounds := flag.Int("rounds", 3, "rounds of each plan")
	plans := flag.String("plans", ",cluster,persist,remind", "plans, separated by commas; the usual one has no name")
	workers := flag.Int("workers", 0, "worlds at a time; 0: one per processor")
	flag.Parse()
	s := series{seeds: *seeds, rounds: *rounds, workers: *workers}
	if s.workers == 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	if err := s.compare(*base, strings.Split(*plans, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

// series is what both simulators play of a plan.
type series struct {
	seeds, rounds int // seeds of a round
	workers       int // worlds at a time
}

func (s series) compare(base string, plans []string) error {
	for _, plan := range plans {
		if plan != "" && !slices.Contains(options.Swarms, plan) {
			return fmt.Errorf("-plans: %q is none of %q", plan, options.Swarms)
		}
	}
	dir, err := os.MkdirTemp("", "speed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	base, err = commitOf(base)
	if err != nil {
		return err
	}
	before, now := filepath.Join(dir, "before"), filepath.Join(dir, "now")
	if err := build(dir, base, before, now); err != nil {
		return err
	}
	for _, plan := range plans {
		name := plan
		if name == "" {
			name = "usual"
		}
		if _, err := s.play(before, plan, 1, 1); refused(err) {
			fmt.Printf("bench=sim case=%s base=%s words=%q\n", name, base, "not compared: the base has no such plan")
			continue
		}
		figures, err := s.comparePlan(before, now, plan)
		if err != nil {
			return err
		}
		fmt.Printf("bench=sim case=%s base=%s workers=%d seeds=%d %s\n",
			name, base, s.workers, s.rounds*s.seeds, figures)
	}
	return nil
}

// comparePlan has both simulators play a plan, in turns.
func (s series) comparePlan(before, now, plan string) (figures string, err error) {
	var ratios []float64
	all := map[string]played{}
	for round := range s.rounds {
		turns := []string{before, now}
		if round%2 == 1 {
			slices.Reverse(turns)
		}
		here := map[string]played{}
		for _, program := range turns {
			if here[program], err = s.play(program, plan, 1+round*s.seeds, s.seeds); err != nil {
				return "", err
			}
			all[program] = all[program].with(here[program])
		}
		ratios = append(ratios, here[now].perSecond()/here[before].perSecond())
	}
	return fmt.Sprintf("events_per_s_per_core=%.0f ratio=%.2f ratio_min=%.2f ratio_max=%.2f", all[now].perSecond(),
		all[now].perSecond()/all[before].perSecond(), slices.Min(ratios), slices.Max(ratios)), nil
}

// refused reports whether a simulator has refused its flags.
func refused(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 2
}

// commitOf finds the commit to compare with.
func commitOf(base string) (string, error) {
	if base == "" {
		base = "HEAD"
		changed, err := run("", "git", "status", "--porcelain")
		if err != nil {
			return "", err
		}
		if changed == "" {
			base = "HEAD^"
		}
	}
	return run("", "git", "rev-parse", "--short", base)
}

// build builds the simulators of a commit and of this tree.
func build(dir, base, before, now string) error {
	root, err := run("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	source, archive := filepath.Join(dir, "source"), filepath.Join(dir, "source.tar")
	if err := os.Mkdir(source, 0o700); err != nil {
		return err
	}
	for _, command := range [][]string{
		{root, "git", "archive", "--format=tar", "-o", archive, base},
		{source, "tar", "-xf", archive},
		{source, "go", "build", "-o", before, "./proptest/sim/cmd/sim"},
		{root, "go", "build", "-o", now, "./proptest/sim/cmd/sim"},
	} {
		if _, err := run(command[0], command[1], command[2:]...); err != nil {
			return err
		}
	}
	return nil
}

var events = regexp.MustCompile(` events=(\d+) `)

// played is what a simulator has done, and in how much processor time.
type played struct{ events, seconds float64 }

func (p played) with(q played) played { return played{p.events + q.events, p.seconds + q.seconds} }

func (p played) perSecond() float64 { return p.events / max(p.seconds, 1e-3) }

// play has a simulator play seeds.
func (s series) play(program, plan string, from, seeds int) (p played, err error) {
	c := exec.Command(program, "-workers", strconv.Itoa(s.workers),
		"-from", strconv.Itoa(from), "-seeds", strconv.Itoa(seeds), "-plan", plan)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return p, fmt.Errorf("%w: %s%s", err, out, said.Bytes())
	}
	found := events.FindSubmatch(out)
	if found == nil {
		return p, fmt.Errorf("no events in %q", out)
	}
	p.events, err = strconv.ParseFloat(string(found[1]), 64)
	p.seconds = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	return p, err
}

// run runs a command in a folder, and returns what it prints.
func run(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
