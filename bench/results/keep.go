package results

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Keep says how often a program runs, and in which files what it finds is kept.
type Keep struct {
	Count      int
	JSON, Text string // empty: none
}

// Flags makes the flags -count, -json and -text.
func (k *Keep) Flags(flags *flag.FlagSet) {
	flags.IntVar(&k.Count, "count", 1, "how many times to run, each in a process of its own; medians are printed then")
	flags.StringVar(&k.JSON, "json", "", "write what all runs have printed to this `file`, as JSON")
	flags.StringVar(&k.Text, "text", "", "write it to this `file` as Go's benchmarks are written; benchstat reads it")
}

// Wanted reports whether the program runs in processes of its own, as Run has it do.
func (k Keep) Wanted() bool { return k.Count != 1 || k.JSON != "" || k.Text != "" }

// Run is Collect, and keeps what was found, also if a run fails. It prints the medians of several runs.
func (k Keep) Run(ctx context.Context, out io.Writer, command func(context.Context) *exec.Cmd) error {
	if k.Count < 1 {
		return fmt.Errorf("-count %d: want 1 at least", k.Count)
	}
	f, err := Collect(ctx, k.Count, out, command)
	if k.Count > 1 {
		_, _ = fmt.Fprintf(out, "medians of %d runs:\n", f.Runs)
		err = errors.Join(err, f.WriteMedians(out))
	}
	return errors.Join(err, keep(k.JSON, f.WriteJSON), keep(k.Text, f.WriteText))
}

// keep writes a file, if it has a name.
func keep(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
