package lmdb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// children are the roles of this binary as a process of its own. Each gets a directory.
var children = map[string]func(dir string) error{"write": writeOn, "hold": hold}

type child struct {
	*exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
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
	c.in, c.out = in, bufio.NewScanner(out)
	return c.Start()
}

const killWriters = 16

// writeOn appends from many goroutines, each to an entity and a shard of its own, and says what was
// acknowledged.
func writeOn(dir string) error {
	s, err := Open(dir, Options{MapSize: 1 << 20}) // the map grows under way
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make(chan error, killWriters)
	for i := range killWriters {
		all.Go(func() { errs <- s.writeOne(i) })
	}
	return <-errs
}

func (s *Store) writeOne(i int) error {
	h := persistence.Hosting{Type: first.Type, Shard: protocol.ShardID(i)}
	id := protocol.EntityID(fmt.Sprint(i))
	events, err := s.bodies(id)
	if err != nil {
		return err
	}
	for after := uint64(len(events)); ; after += 2 {
		w := write(id, after, strings.Repeat("x", int(after*37%5000)))
		w.Events = append(w.Events, w.Events[0])
		if err := s.store(h, w); err != nil {
			return err
		}
		if _, err := fmt.Printf("%d %d\n", i, after+2); err != nil {
			return err
		}
	}
}

// Everything acknowledged is there after a kill -9, whole.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	for round := range 10 {
		c := startChild(t, "write", dir)
		var acked [killWriters]uint64
		lines := 0
		for c.out.Scan() {
			var i int
			var n uint64
			if _, err := fmt.Sscan(c.out.Text(), &i, &n); err == nil { // the last line may be cut
				acked[i] = max(acked[i], n)
			}
			if lines++; lines == 100+50*round {
				if err := c.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := c.Wait(); lines < 100+50*round {
			t.Fatalf("the child ended early: %v\n%s", err, c.stderr.String())
		}
		s := mustOpen(t, dir)
		total := 0
		for i, n := range acked {
			events, err := s.bodies(protocol.EntityID(fmt.Sprint(i)))
			if total += len(events); err != nil || uint64(len(events)) < n || len(events)%2 != 0 {
				t.Fatalf("round %d: entity %d has %d events, %d were acknowledged: %v", round, i, len(events), n, err)
			}
		}
		all := persistence.Query{Type: first.Type}
		for _, err := range s.Events(t.Context(), all) {
			if total--; err != nil {
				t.Fatal(err)
			}
		}
		if total != 0 {
			t.Fatalf("round %d: readers find %d events less than entities", round, total)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func hold(dir string) error {
	s, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// A second process gets ErrInUse, which names the first.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, "hold", dir)
	if !c.out.Scan() {
		t.Fatal(c.stderr.String())
	}
	_, err := Open(dir, Options{})
	if !errors.Is(err, durable.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint(c.Process.Pid)) {
		t.Errorf("%v, want %v by %d", err, durable.ErrInUse, c.Process.Pid)
	}
	_ = c.in.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err, c.stderr.String())
	}
	mustOpen(t, dir)
}
