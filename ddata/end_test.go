package ddata_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// What a node remembers after its end is no current state any more: local reads fail.
func TestLocalReadsEndWithTheNode(t *testing.T) {
	nodes := startCluster(t, 3, nil)
	closed, downed := nodes[0], nodes[1]
	for _, n := range nodes[:2] {
		mustAdd(t, n, "x", "e")
		for range 3 { // the last ones find a published snapshot
			if _, err := ddata.Get(testContext(t), replica(t, n), names, ddata.ReadLocal); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ddata.Get(cancelled, replica(t, closed), names, ddata.ReadLocal); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
	if err := nodes[2].Down(downed.UID()); err != nil {
		t.Fatal(err)
	}
	<-downed.Done()
	mustClose(t, closed)
	for _, c := range []struct {
		n    *ddata.Node
		want error
	}{{closed, ddata.ErrClosed}, {downed, ddata.ErrDowned}} {
		if _, err := ddata.Get(testContext(t), replica(t, c.n), names, ddata.ReadLocal); !errors.Is(err, c.want) {
			t.Errorf("a local read after the end: %v, want %v", err, c.want)
		}
		if err := c.n.Down(nodes[2].UID()); !errors.Is(err, c.want) {
			t.Errorf("Down after the end: %v, want %v", err, c.want)
		}
	}
	if err := downed.Err(); !strings.Contains(err.Error(), "operator") ||
		!strings.Contains(err.Error(), "start the node again") {
		t.Errorf("the end names neither cause nor remedy: %v", err)
	}
}

func TestLostMajorityIsTheCauseOfTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		nodes := mem.start(3, nil)
		mustClose(t, nodes[0])
		mustClose(t, nodes[1])
		select {
		case <-nodes[2].Done():
		case <-time.After(limit):
			t.Fatal("it goes on without a majority")
		}
		if err := nodes[2].Err(); !errors.Is(err, ddata.ErrDowned) ||
			!strings.Contains(err.Error(), "no lease for 4s") {
			t.Errorf("ended with %v", err)
		}
	})
}

// The setting that the error names exists, and does what it says.
func TestClusterStartsFromTheDirectoryThatIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
		nodes := mem.start(3, dirs)
		mustAdd(t, nodes[0], kept.Name(), "e")
		if set, err := ddata.Get(testContext(t), replica(t, nodes[2]), kept, ddata.ReadAll); err != nil ||
			!set.Contains("e") {
			t.Fatal(set, err)
		}
		for _, n := range nodes {
			mustClose(t, n)
		}
		addrs := mem.addrs(3)
		configs := make([]ddata.Config, 3)
		for i := range configs {
			configs[i] = mem.config(addrs[i], addrs, 3)
			configs[i].Dir, configs[i].DurableKeys = t.TempDir(), []string{"kept/*"}
		}
		configs[2].Dir = dirs[2]
		short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if n, err := ddata.Start(short, configs[2]); err == nil || !strings.Contains(err.Error(), "BootstrapAnyDisks") {
			if n != nil {
				mustClose(t, n)
			}
			t.Fatalf("started without the others' directories: %v", err)
		}
		for i := range configs {
			configs[i].BootstrapAnyDisks = true
		}
		nodes = startAll(t, configs...)
		if !holds(t, nodes[0], kept.Name(), "e") {
			t.Error("what the directory held is gone")
		}
	})
}

func TestFoundersWhoExpectDifferentNumbersAreTold(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(3)
		errs := make(chan error, 3)
		for i, a := range addrs {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				n, err := ddata.Start(ctx, mem.config(a, addrs, []int{3, 3, 2}[i]))
				if n != nil {
					_ = n.Close()
				}
				errs <- err
			}()
		}
		for range addrs {
			if err := <-errs; err == nil || !strings.Contains(err.Error(), addrs[2]+" expects 2") ||
				!strings.Contains(err.Error(), "BootstrapExpect") {
				t.Errorf("the error does not say which node expects what: %v", err)
			}
		}
	})
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.WriteFile(filepath.Join(parent, "probe"), nil, 0o600) == nil {
		parent = "/proc" // root may write everywhere except here
	}
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.Dir = filepath.Join(parent, "data")
	n, err := ddata.Start(testContext(t), c)
	if err == nil {
		mustClose(t, n)
	}
	if err == nil || !strings.Contains(err.Error(), "Config.Dir") || !strings.Contains(err.Error(), c.Dir) {
		t.Errorf("the error does not name the directory: %v", err)
	}
}

func TestErrorsShowThatAKeyIsCut(t *testing.T) {
	r := replica(t, startCluster(t, 1, nil)[0])
	_, err := ddata.Get(testContext(t), r, ddata.NewKey[crdt.GCounter](strings.Repeat("k", 2000)), ddata.ReadLocal)
	if err == nil || !strings.Contains(err.Error(), "…") || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
}

func TestDirectoryOfAnotherClustersNameIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		mustClose(t, mem.alone(dir, nil))
		c := mem.config(mem.addrs(1)[0], nil, 1)
		c.Dir, c.Name = dir, "other"
		n, err := ddata.Start(testContext(t), c)
		if err == nil {
			mustClose(t, n)
			t.Fatal("it started")
		}
		for _, want := range []string{"Config.Dir", dir, `"test"`, `"other"`} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not name %s: %v", want, err)
			}
		}
		mustClose(t, mem.alone(dir, nil)) // it is as it was
	})
}

func TestDataOfAnotherRoleIsNamed(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		n := mem.alone(dir, keeping("kept/*"))
		mustAdd(t, n, "kept/x", "e")
		mustClose(t, n)
		var log bytes.Buffer
		n = mem.alone(dir, func(c *ddata.Config) {
			c.Roles, c.Logger = []string{"front"}, slog.New(slog.NewTextHandler(&log, nil))
		})
		mustClose(t, n)
		if s := log.String(); !strings.Contains(s, "level=WARN") || !strings.Contains(s, "role=backend") {
			t.Errorf("the log does not name the role:\n%s", s)
		}
	})
}

// lines is a logger's output that nodes write at the same time.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A healthy cluster warns of nothing while it is founded; a downed node says so as a warning, and a
// wrong name is said once.
func TestTheLogWarnsOfWhatAnOperatorCanMend(t *testing.T) {
	var log lines
	addrs := freeAddrs(t, 3)
	configs := make([]ddata.Config, 3)
	for i := range configs {
		configs[i] = config(addrs[i], addrs, 3)
		configs[i].Logger = slog.New(slog.NewTextHandler(&log, nil))
	}
	nodes := startAll(t, configs...)
	if s := log.String(); strings.Contains(s, "refused") {
		t.Errorf("a founding that went well:\n%s", s)
	}
	if err := nodes[0].Down(nodes[2].UID()); err != nil {
		t.Fatal(err)
	}
	<-nodes[2].Done()
	if s := log.String(); !strings.Contains(s, `level=WARN msg="node ends"`) {
		t.Errorf("being downed is no warning:\n%s", s)
	}
	var stranger lines
	for range 2 {
		c := config(freeAddrs(t, 1)[0], addrs[:1], 0)
		c.Name, c.Logger = "other", slog.New(slog.NewTextHandler(&stranger, nil))
		if _, err := ddata.Start(testContext(t), c); !errors.Is(err, ddata.ErrRefused) {
			t.Fatal(err)
		}
	}
	if n := strings.Count(stranger.String(), "level=WARN"); n != 2 { // one for each start
		t.Errorf("a wrong name is said %d times:\n%s", n, stranger.String())
	}
}
