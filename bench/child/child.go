package child

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

// Env makes this program a second process of a bench; its words say which.
const Env = "COTERIE_BENCH_CHILD"

// ProfileEnv has a child write a profile of its processor time to this file.
const ProfileEnv = "COTERIE_BENCH_CHILD_PROFILE"

// Process is a second process of this program, that answers lines with lines and ends when its
// standard input does, or with the context of Start.
type Process struct {
	Cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts this program again, to be what the words say.
func Start(ctx context.Context, what ...any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), Env+"="+strings.TrimSpace(fmt.Sprintln(what...)))
	if file := flag.Lookup("cpuprofile").Value.String(); file != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s.%s",
			ProfileEnv, file, strings.Fields(fmt.Sprint(what[0]))[0]))
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
	return &Process{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// Tell says a line to the child.
func (c *Process) Tell(do string) error {
	_, err := fmt.Fprintln(c.in, do)
	return err
}

// Answer takes the next line that the child says.
func (c *Process) Answer() (string, error) {
	line, err := c.out.ReadString('\n')
	return strings.TrimSpace(line), err
}

// Ask says a line, and takes the next one that the child says.
func (c *Process) Ask(do string) (string, error) {
	if err := c.Tell(do); err != nil {
		return "", err
	}
	return c.Answer()
}

// CPUTime is the processor time that the child has used so far, in steps of 10 ms; 0 where /proc
// does not say it.
func (c *Process) CPUTime() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Cmd.Process.Pid))
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

// End has the child end by itself, and waits for it.
func (c *Process) End() {
	_ = c.in.Close()
	_ = c.Cmd.Wait()
}
