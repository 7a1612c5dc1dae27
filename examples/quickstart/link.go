package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// The demo talks to its nodes in lines of JSON over their standard input and output: one request,
// one answer.

// request asks a node to do something.
type request struct {
	Do string `json:"do"` // "running", "traffic", "more", "rest", "probe", "stop"
}

// answer is what a node says.
type answer struct {
	Error       string            `json:"error,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Coordinates bool              `json:"coordinates,omitempty"`
	Running     []string          `json:"running,omitempty"`
	Doubled     int64             `json:"doubled,omitempty"`
	Acked       map[string]uint64 `json:"acked,omitempty"`     // increments that were answered
	Attempted   map[string]uint64 `json:"attempted,omitempty"` // increments that were sent
	Totals      map[string]uint64 `json:"totals,omitempty"`
}

// child is one node process, seen from the demo.
type child struct {
	name  string
	cmd   *exec.Cmd
	end   func() error // waits for the process
	in    io.WriteCloser
	lines chan answer // closed when the process's output ends

	doubled int64 // entities that it has seen to run twice, as it last said
}

var errProcessEnded = errors.New("the process ended")

// answerLimit bounds the wait for one answer.
const answerLimit = 40 * time.Second

// spawn starts this program again as a node, which ends with ctx, and with this process: its
// standard input ends then.
func spawn(ctx context.Context, name string, env ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	return launch(name, cmd, cmd.Start, cmd.Wait)
}

// launch starts a node's process; start and end are those of the command, or what does more.
func launch(name string, cmd *exec.Cmd, start, end func() error) (*child, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := start(); err != nil {
		return nil, err
	}
	c := &child{name: name, cmd: cmd, end: end, in: in, lines: make(chan answer, 1)}
	go func() {
		defer close(c.lines)
		dec := json.NewDecoder(bufio.NewReader(out))
		for {
			var a answer
			if dec.Decode(&a) != nil {
				return
			}
			c.lines <- a
		}
	}()
	return c, nil
}

// wait takes the next answer.
func (c *child) wait() (answer, error) {
	select {
	case a, ok := <-c.lines:
		if !ok {
			return a, fmt.Errorf("%s: %w", c.name, errProcessEnded)
		}
		if a.Error != "" {
			return a, fmt.Errorf("%s: %s", c.name, a.Error)
		}
		return a, nil
	case <-time.After(answerLimit):
		return answer{}, fmt.Errorf("%s: no answer in %v", c.name, answerLimit)
	}
}

// ask sends a request and takes its answer.
func (c *child) ask(do string) (answer, error) {
	if err := c.tell(do); err != nil {
		return answer{}, err
	}
	return c.wait()
}

// tell sends a request; its answer is still to be taken.
func (c *child) tell(do string) error {
	if err := json.NewEncoder(c.in).Encode(request{Do: do}); err != nil {
		return fmt.Errorf("%s: %w: %w", c.name, errProcessEnded, err) // there is no reader
	}
	return nil
}

// kill is kill -9.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	c.reap()
}

// reap waits for the end of the process. Once is enough, more does no harm.
func (c *child) reap() {
	for range c.lines { // the rest of what it said
	}
	if c.cmd.ProcessState == nil {
		_ = c.end()
	}
}

// hear reads the requests on standard input. It calls gone when the input ends, because then the
// process that gave the orders has ended.
func hear(gone func(error)) <-chan request {
	requests := make(chan request)
	go func() {
		dec := json.NewDecoder(os.Stdin)
		for {
			var r request
			if err := dec.Decode(&r); err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				gone(err)
				return
			}
			requests <- r
		}
	}()
	return requests
}

// serve answers requests until one of them was "stop" or ctx ends.
func serve(ctx context.Context, requests <-chan request, do func(context.Context, request) answer) error {
	enc := json.NewEncoder(os.Stdout)
	for {
		select {
		case r := <-requests:
			if err := enc.Encode(do(ctx, r)); err != nil {
				return err
			}
			if r.Do == "stop" {
				return nil
			}
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
	}
}
