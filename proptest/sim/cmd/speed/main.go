// Command speed compares how fast this tree's simulator is with how fast the one of an earlier commit
// is. It builds both, and has them play the same seeds in turns, one world at a time.
//
//	speed                    beside the last commit; the one before it, if nothing was changed since
//	speed -base 9901c35      beside another commit
//
// A line has the events of a second of processor time, of all worlds of a plan, and the ratio to the
// base: the middle one of the rounds, with the least and the greatest. Processor time holds better than
// time where others use the machine, too. Where a commit has changed what happens in a world, an event
// of the one is not that of the other.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	base := flag.String("base", "", "the commit to compare with")
	seeds := flag.Int("seeds", 6, "seeds of each plan in each round")
	rounds := flag.Int("rounds", 3, "rounds of each plan")
	plans := flag.String("plans", ",cluster,persist,remind", "plans, separated by commas; the usual one has no name")
	flag.Parse()
	if err := compare(*base, strings.Split(*plans, ","), *seeds, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func compare(base string, plans []string, seeds, rounds int) error {
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
		var speeds, ratios []float64
		for round := range rounds {
			turns := []string{before, now}
			if round%2 == 1 {
				slices.Reverse(turns)
			}
			took := map[string]float64{}
			for _, program := range turns {
				if took[program], err = speed(program, plan, 1+round*seeds, seeds); err != nil {
					return err
				}
			}
			speeds, ratios = append(speeds, took[now]), append(ratios, took[now]/took[before])
		}
		slices.Sort(speeds)
		slices.Sort(ratios)
		if plan == "" {
			plan = "usual"
		}
		fmt.Printf("bench=sim case=%s base=%s seeds=%d events_per_s_per_core=%.0f "+
			"ratio=%.2f ratio_min=%.2f ratio_max=%.2f\n", plan, base, rounds*seeds, speeds[rounds/2],
			ratios[rounds/2], ratios[0], ratios[rounds-1])
	}
	return nil
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

// speed has a simulator play seeds, and returns the events of a second of processor time.
func speed(program, plan string, from, seeds int) (float64, error) {
	c := exec.Command(program,
		"-workers", "1", "-from", strconv.Itoa(from), "-seeds", strconv.Itoa(seeds), "-plan", plan)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	found := events.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("no events in %q", out)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	took := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return n / max(took, time.Millisecond).Seconds(), err
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
