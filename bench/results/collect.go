package results

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Collect runs a program some times, one run after the other, and keeps what its benches print. All that it prints
// goes to out, too. command makes the process of a run; Collect takes its standard output.
//
// It ends with the first run that fails, and returns what was found before.
func Collect(
	ctx context.Context, runs int, out io.Writer, command func(context.Context) *exec.Cmd,
) (f File, err error) {
	f.Origin = originOf(ctx)
	f.Origin.At = time.Now()
	for f.Runs < runs {
		if err := f.run(command(ctx), out); err != nil {
			return f, fmt.Errorf("run %d of %d: %w", f.Runs+1, runs, err)
		}
		f.Runs++
	}
	return f, nil
}

// lineMax is the longest line that is read.
const lineMax = 1 << 20

func (f *File) run(c *exec.Cmd, out io.Writer) error {
	f.Origin.Command = append([]string{"bench"}, c.Args[1:]...)
	pipe, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, lineMax)
	for lines.Scan() {
		if l, ok := Parse(lines.Text()); ok {
			f.Add(l)
		}
		fmt.Fprintln(out, lines.Text())
	}
	broken := lines.Err()
	if broken != nil {
		_ = c.Process.Kill() // it would wait for somebody to read
	}
	if err := c.Wait(); err != nil && broken == nil {
		return err
	}
	return broken
}
