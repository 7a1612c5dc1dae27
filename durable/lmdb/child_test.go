package lmdb

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// children are the roles that this binary plays as a process of its own. Each gets the directory of
// a store.
var children = map[string]func(dir string) error{
	"hold":  holdStore,
	"write": writeForEver,
}

func runChild(role string, args []string) int {
	if err := children[role](args[0]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is a running process that plays a role.
type child struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
}

func newChild(role, dir string) *child {
	c := &child{Cmd: exec.Command(os.Args[0], dir)}
	c.Env = append(os.Environ(), childEnv+"="+role)
	c.Stderr = &c.stderr
	return c
}

func startChild(t *testing.T, role, dir string) *child {
	t.Helper()
	c := newChild(role, dir)
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) begin() error {
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	c.in, c.out = in, bufio.NewReader(out)
	return c.Start()
}

// line reads one line; "" is the end.
func (c *child) line() string {
	s, _ := c.out.ReadString('\n')
	if !strings.HasSuffix(s, "\n") { // a line that the kill cut in two
		return ""
	}
	return strings.TrimSuffix(s, "\n")
}

// finish waits for a child that must end well, and returns what it said.
func (c *child) finish(t *testing.T) string {
	t.Helper()
	said, _ := io.ReadAll(c.out)
	if err := c.Wait(); err != nil {
		t.Fatalf("child: %v\n%s%s", err, said, c.stderr.String())
	}
	return string(said)
}

// holdStore opens a store, says so, and closes it when its input ends.
func holdStore(dir string) error {
	e, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return e.Close()
}

// lines writes whole lines to the parent, each before the call returns, from any goroutine.
type lines struct{ mu sync.Mutex }

func (l *lines) say(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(os.Stdout, n)
}
