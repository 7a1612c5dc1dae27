package lmdb

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// laterIn opens a directory as its next holder would, so much later on both clocks.
func laterIn(t *testing.T, dir string, later time.Duration, bend func(*moment)) time.Duration {
	t.Helper()
	idle, _ := readIn(t, dir, later, bend)
	return idle
}

// readIn is laterIn, with whether the mark is known to be of this kernel.
func readIn(t *testing.T, dir string, later time.Duration, bend func(*moment)) (time.Duration, bool) {
	t.Helper()
	e := mustOpen(t, dir, Options{})
	defer e.Close()
	e.mark.clock = func() (moment, bool) {
		m, known := kernelClock()
		m.since += int64(later)
		m.wall += int64(later)
		if bend != nil {
			bend(&m)
		}
		return m, known
	}
	return e.mark.read(e.node.identity())
}

// marksIn makes a directory whose holder has marked it as in use for ahead, and has gone without a
// word.
func marksIn(t *testing.T, ahead time.Duration) (dir string) {
	t.Helper()
	dir = t.TempDir()
	e := mustOpen(t, dir, Options{})
	if err := e.SetNote([]byte("a view")); err != nil {
		t.Fatal(err)
	}
	if known, err := e.Mark(ahead); err != nil {
		t.Fatal(err)
	} else if !known {
		t.Skip("no clock of this system outlives a process") // skip: then there is no mark, see TestNoClockNoMark
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestIdleCountsFromTheMark: the next holder learns how long ago the time was that the last one had
// marked, and no more.
func TestIdleCountsFromTheMark(t *testing.T) {
	dir := marksIn(t, time.Minute)
	for _, c := range []struct{ later, least, most time.Duration }{
		{0, 0, 0}, {59 * time.Second, 0, 10 * time.Second}, {2 * time.Minute, time.Minute, 2 * time.Minute},
	} {
		if got := laterIn(t, dir, c.later, nil); got < c.least || got > c.most {
			t.Errorf("%v after the mark of a minute ahead it is idle for %v", c.later, got)
		}
	}
	e := mustOpen(t, dir, Options{})
	defer e.Close()
	if e.Idle() != 0 {
		t.Errorf("idle for %v at once", e.Idle())
	}
	if _, err := e.Mark(time.Hour); err != nil {
		t.Fatal(err)
	}
	_ = e.Close()
	if got := laterIn(t, dir, 59*time.Minute, nil); got != 0 {
		t.Errorf("idle for %v, and a later mark says an hour", got)
	}
	if known, err := e.Mark(0); err == nil {
		t.Errorf("a closed directory was marked: %t", known)
	}
}

// TestEnded: the last holder has ended for certain if its mark is of this boot, however old it is, and not
// if it is of another one or a copy.
func TestEnded(t *testing.T) {
	dir := marksIn(t, time.Minute)
	if _, ended := readIn(t, dir, 0, nil); !ended {
		t.Error("after a kill it may still run")
	}
	if _, ended := readIn(t, dir, 0, func(m *moment) { m.clock[0]++ }); ended {
		t.Error("it has ended on another machine")
	}
	path := filepath.Join(dir, "coterie.mark")
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".copy", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".copy", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, ended := readIn(t, dir, 0, nil); ended {
		t.Error("it has ended where the directory is a copy")
	}
}

// TestIdleTakesTheSlowerClock: of the clock that nothing sets and wall time, the one that says less
// counts.
func TestIdleTakesTheSlowerClock(t *testing.T) {
	dir := marksIn(t, 0)
	const hour = int64(time.Hour)
	for name, bend := range map[string]func(*moment){
		"the machine slept":      func(m *moment) { m.since -= hour },
		"wall time was set back": func(m *moment) { m.wall -= hour },
		"both stand before it":   func(m *moment) { m.since -= 2 * hour; m.wall -= 2 * hour },
		"another boot":           func(m *moment) { m.clock[0]++ },
		"wall time is far ahead": func(m *moment) { m.since -= hour; m.wall += 1000 * hour },
	} {
		if got := laterIn(t, dir, time.Hour, bend); got > time.Minute {
			t.Errorf("%s: idle for %v", name, got)
		}
	}
	if got := laterIn(t, dir, time.Hour, nil); got < time.Hour {
		t.Errorf("idle for %v after an hour", got)
	}
}

// TestOddMarksSayNothing: the next holder takes no word from a mark that is damaged, copied, or
// made before another holder changed the node file.
func TestOddMarksSayNothing(t *testing.T) {
	const later = time.Hour
	at := func(dir string) string { return filepath.Join(dir, markName) }
	rewrite := func(change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(at(dir))
			if err == nil {
				err = os.WriteFile(at(dir), change(b), fileMode)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for name, harm := range map[string]func(*testing.T, string){
		"none":      func(t *testing.T, dir string) { _ = os.Remove(at(dir)) },
		"empty":     rewrite(func([]byte) []byte { return nil }),
		"cut":       rewrite(func(b []byte) []byte { return b[:len(b)-1] }),
		"longer":    rewrite(func(b []byte) []byte { return append(b, 0) }),
		"a flipped": rewrite(func(b []byte) []byte { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8); return b }),
		"a copy": func(t *testing.T, dir string) {
			b, err := os.ReadFile(at(dir))
			if err == nil {
				err = os.WriteFile(at(dir)+".copy", b, fileMode)
			}
			if err == nil {
				err = os.Rename(at(dir)+".copy", at(dir))
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"a link": func(t *testing.T, dir string) {
			if err := os.Rename(at(dir), at(dir)+".moved"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(at(dir)+".moved", at(dir)); err != nil {
				t.Fatal(err)
			}
		},
		"older than the note": func(t *testing.T, dir string) {
			e := mustOpen(t, dir, Options{})
			defer e.Close()
			if err := e.SetNote([]byte("of a holder that marks nothing")); err != nil {
				t.Fatal(err)
			}
		},
		"taken back": func(t *testing.T, dir string) {
			e := mustOpen(t, dir, Options{})
			defer e.Close()
			if err := e.Unmark(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := marksIn(t, 0)
		if got := laterIn(t, dir, later, nil); got < later {
			t.Fatalf("idle for %v after %v", got, later)
		}
		harm(t, dir)
		if got := laterIn(t, dir, later, nil); got != 0 {
			t.Errorf("%s: idle for %v", name, got)
		}
		e := mustOpen(t, dir, Options{})
		if _, err := e.Mark(0); err != nil {
			t.Errorf("%s: not marked again: %v", name, err)
		}
		_ = e.Close()
		if got := laterIn(t, dir, later, nil); got < later {
			t.Errorf("%s: marked again, and idle for %v after %v", name, got, later)
		}
	}
	if err := Remove(marksIn(t, 0)); err != nil {
		t.Fatal(err)
	}
}

// TestNoClockNoMark: where no clock outlives a process, the mark of an earlier holder goes.
func TestNoClockNoMark(t *testing.T) {
	dir := marksIn(t, 0)
	e := mustOpen(t, dir, Options{})
	e.mark.clock = func() (moment, bool) { return moment{}, false }
	if known, err := e.Mark(time.Second); known || err != nil {
		t.Errorf("marked: %t, %v", known, err)
	}
	_ = e.Close()
	left(t, dir, lockName, nodeName)
}

// FuzzMark: no bytes make the next holder panic, and only those that a holder wrote are a mark.
func FuzzMark(f *testing.F) {
	f.Add(marked{until: moment{since: 1, wall: 2}, id: 3, change: 4, file: dirID{5, 6}}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, ok := decodeMark(b); ok && string(m.encode()) != string(b) {
			t.Errorf("%x is taken for %+v", b, m)
		}
	})
}
