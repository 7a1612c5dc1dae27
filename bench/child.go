package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// childEnv makes this program a second process of a bench; its words say which (runChild).
const childEnv = "COTERIE_BENCH_CHILD"

// childProfileEnv has a child write a profile of its processor time to this file.
const childProfileEnv = "COTERIE_BENCH_CHILD_PROFILE"

// child is a second process of this program, that answers lines with lines and ends when its
// standard input does, or with ctx.
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
	if file := flag.Lookup("cpuprofile").Value.String(); file != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s.%s",
			childProfileEnv, file, strings.Fields(fmt.Sprint(what[0]))[0]))
	}
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

// cpuTime is the processor time that the child has used so far, in steps of 10 ms; 0 where /proc
// does not say it.
func (c *child) cpuTime() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the command's name may have spaces
	words := strings.Fields(after)
	if len(words) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(words[11])
	system, _ := strconv.Atoi(words[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// end has the child end by itself, and waits for it.
func (c *child) end() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
