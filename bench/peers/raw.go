package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/bench/results"
)

// addRaw adds the line of a raw limit.
func addRaw(f *results.File, name string, figures measure.Figures) {
	if l, ok := results.Parse(fmt.Sprintf("bench=raw case=%s %s", name, strings.Join(figures, " "))); ok {
		f.Add(l)
	}
}

// rawBatch is how many ids the limit of remembered entities makes durable at once.
const rawBatch = 100

// rawRemember writes the ids of entities into one file, which is synchronized after each hundred of them, and reads
// them into a map. No library can do with less: it has a protocol, and more than one node.
func rawRemember(_ context.Context, o options, f *results.File) error {
	dir, err := os.MkdirTemp("", "peers-raw")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "ids"))
	if err != nil {
		return err
	}
	defer file.Close()
	var wrote, read measure.Cost
	err = wrote.Measure(o.n, func() error {
		w := bufio.NewWriter(file)
		for i := range o.n {
			if _, err := fmt.Fprintf(w, "entity-%09d\n", i); err != nil {
				return err
			}
			if i%rawBatch == rawBatch-1 || i == o.n-1 {
				if err := errors.Join(w.Flush(), file.Sync()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	all := map[string]*rawEntity{}
	err = read.Measure(o.n, func() error {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			all[lines.Text()] = &rawEntity{}
		}
		return lines.Err()
	})
	if err == nil && len(all) != o.n {
		err = fmt.Errorf("%d of %d ids were read", len(all), o.n)
	}
	var figures measure.Figures
	figures.Add("starts_per_s", float64(o.n)/wrote.Wall.Seconds())
	figures = append(figures, fmt.Sprintf("restart_seconds=%.6f", read.Wall.Seconds()))
	addRaw(f, "remember", figures)
	return err
}

// rawEntity has the size of the least that an entity has: a state, as an interface, and a mailbox, as a slice.
type rawEntity struct{ _ [5]uintptr }

// rawEntities are entities in a map, by ids of their own.
func rawEntities(_ context.Context, o options, f *results.File) error {
	before := measure.HeapBytes()
	all := map[string]*rawEntity{}
	for i := range o.weighed() {
		all[fmt.Sprintf("entity-%d", 1_000_000_000+i)] = &rawEntity{}
	}
	var figures measure.Figures
	figures.Add("bytes_per_idle_entity", float64(measure.HeapBytes()-before)/float64(o.weighed()))
	addRaw(f, "entities", figures)
	runtime.KeepAlive(all)
	return nil
}

// rawKills is how many processes the limit of a failover kills, one after the other.
const rawKills = 5

// rawKill kills a process that holds a connection, until the other end of it is seen to be gone. No failover is
// faster, unless it was told before.
func rawKill(ctx context.Context, _ options, f *results.File) error {
	var took time.Duration
	for range rawKills {
		d, err := killOnce(ctx)
		if err != nil {
			return err
		}
		took += d
	}
	ms := float64(took.Microseconds()) / 1e3 / rawKills
	var figures measure.Figures
	figures.Add("median_ms", ms)
	figures.Add("last_ms", ms)
	addRaw(f, "kill", figures)
	return nil
}

func killOnce(ctx context.Context) (time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	raw := &peer{name: rawRole, command: selfAsRaw}
	c, err := raw.start(ctx, l.Addr())
	if err != nil {
		return 0, err
	}
	defer c.end()
	if err := c.expect(ctx, "up", nil); err != nil {
		return 0, err
	}
	conn, err := l.Accept()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	killed := time.Now()
	if err := c.signal(syscall.SIGKILL); err != nil {
		return 0, err
	}
	_, _ = conn.Read(make([]byte, 1)) // it ends, with an error or at the end
	return time.Since(killed), nil
}

func selfAsRaw(ctx context.Context, words []string) *exec.Cmd { return selfAs(ctx, rawRole, words) }

// rawChild holds a connection until its standard input ends.
func rawChild(words []string) error {
	conn, err := net.Dial("tcp", words[0])
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Println("up")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
