package ddata_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/durable/lmdb"
)

// markedEnv makes this test binary nodes that run until they are killed: "ADDRESS DIRECTORY" of each.
const markedEnv = "COTERIE_DDATA_TEST_MARKED"

// longLease are nodes that found together, and wait for old leases for so long that it shows on a busy
// machine too.
func longLease(addrs []string, dirs ...string) (cs []ddata.Config) {
	for i, dir := range dirs {
		c := config(addrs[i], addrs, len(dirs))
		c.Dir = dir
		c.Timing.LeaseDuration, c.Timing.UnreachableAfter, c.Timing.StableAfter = 4*time.Second,
			3*time.Second, 3*time.Second
		c.Timing.SelfDownAfter = 8 * time.Second
		cs = append(cs, c)
	}
	return cs
}

func runMarked(words []string) error {
	var addrs, dirs []string
	for pair := range slices.Chunk(words, 2) {
		addrs, dirs = append(addrs, pair[0]), append(dirs, pair[1])
	}
	errs := make(chan error)
	up := make(chan bool, len(dirs))
	for _, c := range longLease(addrs, dirs...) {
		go func() {
			n, err := ddata.Start(context.Background(), c)
			if err == nil {
				up <- true
				<-n.Done()
				err = n.Err()
			}
			errs <- err
		}()
	}
	for range dirs {
		select {
		case <-up:
		case err := <-errs:
			return err
		}
	}
	fmt.Println("up")
	return <-errs
}

// killedNodes runs nodes in a process of their own, kills that, and returns their directories and when
// it was killed.
func killedNodes(t *testing.T, count int) (dirs []string, at time.Time) {
	t.Helper()
	var words []string
	for _, addr := range freeAddrs(t, count) {
		dirs = append(dirs, t.TempDir())
		words = append(words, addr, dirs[len(dirs)-1])
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), markedEnv+"="+strings.Join(words, " "))
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
	return dirs, at
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
// left, it waits for all of it. When all members are there again it waits for nothing: none of them
// runs any more.
func TestAColdStartWaitsForWhatIsLeft(t *testing.T) {
	if known, err := markable(t); err != nil || !known {
		// skip: there is no mark then, and every start waits as in the other tests
		t.Skip("no clock of this system outlives a process:", err)
	}
	const lease = 4 * time.Second
	for _, c := range []struct {
		name    string
		later   bool // the start comes when the leases have run out
		missing bool // one of the members does not start again
		harm    func([]byte) []byte
		atOnce  bool
		fromNow bool // the whole lease is waited for from the start
	}{
		{name: "later", later: true, atOnce: true},
		{name: "later, with a damaged mark",
			later: true, harm: func(b []byte) []byte { b[30] ^= 1; return b }, fromNow: true},
		{name: "later, without a mark", later: true, harm: func([]byte) []byte { return nil }, fromNow: true},
		{name: "all at once", atOnce: true},
		{name: "at once, but one", missing: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dirs, killed := killedNodes(t, 3)
			// no process is forked from here on: it would hold on to a lock of another directory
			// until it executes
			t.Parallel()
			every := time.NewTicker(50 * time.Millisecond)
			defer every.Stop()
			for c.later && min(idle(t, dirs[0]), idle(t, dirs[1]), idle(t, dirs[2])) < lease*103/100 {
				if time.Since(killed) > limit {
					t.Fatalf("%v after the kill the mark says %v", time.Since(killed), idle(t, dirs[0]))
				}
				<-every.C
			}
			for _, dir := range dirs {
				if c.harm == nil {
					break
				}
				path := filepath.Join(dir, "coterie.mark")
				b, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, c.harm(b), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if c.missing {
				dirs = dirs[1:]
			}
			began := time.Now()
			startAll(t, longLease(freeAddrs(t, len(dirs)), dirs...)...)
			took, since := time.Since(began), time.Since(killed)
			switch {
			case c.atOnce && took >= lease:
				t.Errorf("up after %v, and nothing can run under an old lease", took)
			case c.fromNow && took < lease:
				t.Errorf("up after %v, and there may be leases", took)
			case !c.atOnce && since < lease:
				t.Errorf("up %v after the kill, and there may be leases", since)
			}
			t.Logf("up after %v, %v after the kill", took, since)
		})
	}
}

// A node that was alone, and was killed, waits for no lease: it had none but its own.
func TestAColdStartOfANodeAlone(t *testing.T) {
	if known, err := markable(t); err != nil || !known {
		// skip: the node cannot know then that the last one has ended
		t.Skip("no clock of this system outlives a process:", err)
	}
	dirs, killed := killedNodes(t, 1)
	startAll(t, longLease(freeAddrs(t, 1), dirs...)...)
	if since := time.Since(killed); since >= 4*time.Second {
		t.Errorf("up %v after the kill", since)
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
	c := longLease(freeAddrs(t, 1), dir)[0]
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
