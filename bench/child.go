package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// childEnv makes this program a second process of a bench; its words say which (runChild).
const childEnv = "COTERIE_BENCH_CHILD"

// child is a second process of this program, that answers lines with lines and ends when its standard input does, or with ctx.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(ctx context.Context, what ...any) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childEnv+"="+strings.TrimSpace(fmt.Sprintln(what...)))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

func (c *child) tell(do string) error {
	_, err := fmt.Fprintln(c.in, do)
	return err
}

// answer takes the next line that the child says.
func (c *child) answer() (string, error) {
	line, err := c.out.ReadString('\n')
	return strings.TrimSpace(line), err
}

func (c *child) ask(do string) (string, error) {
	if err := c.tell(do); err != nil {
		return "", err
	}
	return c.answer()
}

// end has the child end by itself, and waits for it.
func (c *child) end() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
