package lmdb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The steps of a compaction that a child dies in front of, and behind all of them.
var compactSteps = []string{"copy", "rename", "sync", "end"}

func init() {
	for _, step := range compactSteps {
		children["compact until "+step] = func(dir string) error { return compactUntil(dir, step) }
	}
	children["compact again and again"] = compactForever
}

// compactUntil compacts and dies in front of a step, by the signal that no process can catch.
func compactUntil(dir, until string) error {
	die := func(step string) error {
		if step != until {
			return nil
		}
		return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), errors.New("still alive"))
	}
	if _, err := Compact(dir, Options{test: testKnobs{compacting: die}}); err != nil {
		return err
	}
	return die("end")
}

// compactForever opens, changes a row so that pages become free, and compacts, until it is killed.
func compactForever(dir string) error {
	for n := 0; ; n++ {
		e, err := Open(dir, Options{CompactFree: -1})
		if err != nil {
			return err
		}
		t, err := e.Table("t")
		if err != nil {
			return err
		}
		if err := errors.Join(commit(t, row("zz", 5)), e.Close()); err != nil {
			return err
		}
		if _, err := Compact(dir, Options{}); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// killed waits for a child that dies by SIGKILL.
func killed(t *testing.T, c *child) {
	t.Helper()
	for c.line() != "" {
	}
	err := c.Wait()
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %v: %s", err, c.stderr.String())
	}
}

// Whenever a compaction is killed, the store has all its rows, takes more, and nothing is left
// behind.
func TestKillDuringCompaction(t *testing.T) {
	dir := t.TempDir()
	sparse(t, dir)
	check := func(when string) {
		t.Helper()
		e := mustOpen(t, dir, Options{CompactFree: -1})
		if n, m := count(t, mustTable(t, e, "t")), count(t, mustTable(t, e, "node")); n != 401 || m != 1 {
			t.Errorf("%s: %d and %d rows", when, n, m)
		}
		mustCommit(t, mustTable(t, e, "t"), row("zz", 6))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		left(t, dir, lockName, nodeName, storeName)
		left(t, filepath.Join(dir, storeName), dataName, formatName, readerName)
	}
	for _, step := range compactSteps {
		killed(t, startChild(t, "compact until "+step, dir))
		check("killed before " + step)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		c := startChild(t, "compact again and again", dir)
		if c.line() == "" {
			t.Fatalf("the child ended early: %s", c.stderr.String())
		}
		timer := time.AfterFunc(time.Duration(rng.IntN(20_000))*time.Microsecond, func() { _ = c.Process.Kill() })
		killed(t, c)
		timer.Stop()
		check(fmt.Sprint("round ", round))
	}
}
