package ddata_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// markedEnv makes this test binary a node that runs until it is killed: "ADDRESS DIRECTORY".
const markedEnv = "COTERIE_DDATA_TEST_MARKED"

// longLease is a node that founds alone, and waits for old leases for so long that it shows on a
// busy machine too.
func longLease(addr, dir string) ddata.Config {
	c := config(addr, nil, 1)
	c.Dir = dir
	c.Timing.LeaseDuration, c.Timing.UnreachableAfter, c.Timing.StableAfter = 4*time.Second,
		3*time.Second, 3*time.Second
	c.Timing.SelfDownAfter = 8 * time.Second
	return c
}

func runMarked(words []string) error {
	n, err := ddata.Start(context.Background(), longLease(words[0], words[1]))
	if err != nil {
		return err
	}
	fmt.Println("up")
	<-n.Done()
	return n.Err()
}

// killedNode runs a node in a process of its own, kills that, and returns its directory and when it
// was killed.
func killedNode(t *testing.T) (dir string, at time.Time) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), markedEnv+"="+strings.Join([]string{freeAddrs(t, 1)[0], dir}, " "))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Errorf("the node said %q: %v", line, err)
	}
	at = time.Now()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return dir, at
}

// idle is what the next node on a directory will know.
func idle(t *testing.T, dir string) time.Duration {
	t.Helper()
	e, err := lmdb.OpenExisting(dir, lmdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.Idle()
}

// After a kill, a node waits for the leases that the last one on its directory may have granted:
// for what is left of them, and not for more. When the mark in the directory does not say what is
// left, it waits for all of it.
func TestAColdStartWaitsForWhatIsLeft(t *testing.T) {
	if known, err := markable(t); err != nil || !known {
		// skip: there is no mark then, and every start waits as in the other tests
		t.Skip("no clock of this system outlives a process:", err)
	}
	const lease = 4 * time.Second
	for _, c := range []struct {
		name    string
		later   bool // the start comes when the leases have run out
		harm    func([]byte) []byte
		atOnce  bool
		fromNow bool // the whole lease is waited for from the start
	}{
		{name: "later", later: true, atOnce: true},
		{name: "later, with a damaged mark",
			later: true, harm: func(b []byte) []byte { b[30] ^= 1; return b }, fromNow: true},
		{name: "later, without a mark", later: true, harm: func([]byte) []byte { return nil }, fromNow: true},
		{name: "at once"}, // the last to be killed is the first to be started
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, killed := killedNode(t)
			// no process is forked from here on: it would hold on to a lock of another directory
			// until it executes
			t.Parallel()
			every := time.NewTicker(50 * time.Millisecond)
			defer every.Stop()
			for c.later && idle(t, dir) < lease*103/100 {
				if time.Since(killed) > limit {
					t.Fatalf("%v after the kill the mark says %v", time.Since(killed), idle(t, dir))
				}
				<-every.C
			}
			if path := filepath.Join(dir, "coterie.mark"); c.harm != nil {
				b, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, c.harm(b), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			startAll(t, longLease(freeAddrs(t, 1)[0], dir))
			took, since := time.Since(began), time.Since(killed)
			switch {
			case c.atOnce && took >= lease:
				t.Errorf("up after %v, and nothing can run under an old lease", took)
			case c.fromNow && took < lease:
				t.Errorf("up after %v, and there may be leases", took)
			case since < lease:
				t.Errorf("up %v after the kill, and there may be leases", since)
			}
			t.Logf("up after %v, %v after the kill", took, since)
		})
	}
}

// markable reports whether a directory can be marked here.
func markable(t *testing.T) (bool, error) {
	e, err := lmdb.Open(t.TempDir(), lmdb.Options{})
	if err != nil {
		return false, err
	}
	defer e.Close()
	return e.Mark(0)
}

// A directory that takes no mark, and keeps what lies in its place, is told of once.
func TestADirectoryThatCannotBeMarkedIsTold(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "coterie.mark")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	told := make(chan events.StoreUnmarked, 100)
	c := longLease(freeAddrs(t, 1)[0], dir)
	c.OnEvent = eventstest.On(func(e events.StoreUnmarked) { told <- e })
	n := startAll(t, c)[0]
	e := <-told
	if !e.Kept || e.Dir != dir || !strings.Contains(e.Err.Error(), path) {
		t.Errorf("told %v", e)
	}
	mustClose(t, n)
	if len(told) > 0 {
		t.Errorf("told again: %v", <-told)
	}
}
