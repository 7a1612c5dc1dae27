package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/bench/results"
)

// childLife is the longest life of a process: it ends by itself then, whatever became of this one.
const childLife = 20 * time.Minute

// endTime is how long a process may take to end by itself.
const endTime = 10 * time.Second

// child is a process of a peer. It answers lines with lines and ends when its standard input does. It has a process
// group of its own, which ends with ctx, or with end.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	said chan string // closed when its standard output ends
	stop context.CancelFunc
}

// start starts a process of a peer that does what the words say.
func (p *peer) start(ctx context.Context, words ...any) (*child, error) {
	ctx, stop := context.WithTimeout(ctx, childLife)
	cmd := p.command(ctx, strings.Fields(fmt.Sprintln(words...)))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // a stopped one, too
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = endTime
	in, err := cmd.StdinPipe()
	if err != nil {
		stop()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		stop()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	c := &child{cmd: cmd, in: in, said: make(chan string, 16), stop: stop}
	go func() {
		defer close(c.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			select {
			case c.said <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return c, nil
}

// tell says a line to the process.
func (c *child) tell(words ...any) error {
	_, err := fmt.Fprintln(c.in, words...)
	return err
}

// expect waits until the process has said the word. Lines with figures that it says before that are added to f.
func (c *child) expect(ctx context.Context, word string, f *results.File) error {
	for {
		select {
		case line, open := <-c.said:
			if !open {
				return fmt.Errorf("the process ended before it said %q", word)
			}
			if line == word {
				return nil
			}
			if l, ok := results.Parse("bench=peer " + line); ok && f != nil {
				f.Add(l)
				continue
			}
			fmt.Fprintln(os.Stderr, line)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w", word, context.Cause(ctx))
		}
	}
}

// ask says a line and waits for the word that answers it.
func (c *child) ask(ctx context.Context, f *results.File, answer string, words ...any) error {
	if err := c.tell(words...); err != nil {
		return err
	}
	return c.expect(ctx, answer, f)
}

// signal is to the whole group.
func (c *child) signal(s syscall.Signal) error { return syscall.Kill(-c.cmd.Process.Pid, s) }

// end has the process end by itself, and kills its group if it does not.
func (c *child) end() {
	_ = c.in.Close()
	timer := time.AfterFunc(endTime, c.stop)
	defer timer.Stop()
	for range c.said { // it may wait for a reader
	}
	err := c.cmd.Wait()
	c.stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		_, failed := errors.AsType[*exec.ExitError](err)
		if !failed {
			fmt.Fprintln(os.Stderr, "peers:", err)
		}
	}
}
