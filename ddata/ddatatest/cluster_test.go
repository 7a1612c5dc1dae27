package ddatatest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// both runs a test in real time and in a bubble.
func both(t *testing.T, fn func(t *testing.T)) {
	t.Run("plain", fn)
	t.Run("bubble", func(t *testing.T) { bubble.Test(t, fn) })
}

var names = ddata.NewKey[crdt.ORSet[string]]("names")

// add adds an element by a node, at a level.
func add(c *Cluster, i int, name string, level ddata.WriteLevel) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return ddata.Update(ctx, c.Replicator(i, ddata.DefaultRole), names, level,
		func(tx *crdt.ORSetTx[string]) error { return tx.Add(name) })
}

// has waits until a node has an element.
func has(t *testing.T, c *Cluster, i int, name string) {
	t.Helper()
	AwaitValue(t, c.Replicator(i, ddata.DefaultRole), names, func(s crdt.ORSet[string]) error {
		if all := slices.Collect(s.All()); !slices.Contains(all, name) {
			return fmt.Errorf("it has %q", all)
		}
		return nil
	})
}

func TestOneNode(t *testing.T) {
	both(t, func(t *testing.T) {
		c := NewCluster(t, 1, nil)
		if err := add(c, 0, "x", ddata.WriteMajority); err != nil {
			t.Error(err)
		}
		has(t, c, 0, "x")
	})
}

// A cut node is removed by the majority, and ends; what was cut for a moment catches up.
func TestCut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewCluster(t, 3, nil)
		c.Cut(0, 2)
		c.Cut(1, 2)
		if err := add(c, 0, "x", ddata.WriteMajority); err != nil {
			t.Error(err)
		}
		c.HealAll()
		has(t, c, 2, "x")
		c.Isolate(2)
		c.AwaitMembers(2, 0, 1)
		<-c.Node(2).Done()
		if err := c.Node(2).Err(); !errors.Is(err, ddata.ErrDowned) {
			t.Errorf("the node that was cut off has ended with %v", err)
		}
	})
}

// A heal of one cut leaves the others, and the pauses, as they are.
func TestCutsAndPausesAreSeparate(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewCluster(t, 3, nil)
		c.Isolate(2)
		c.Pause(2)
		c.Heal(0, 2)
		c.Resume(2)
		if err := add(c, 2, "x", ddata.WriteLocal); err != nil {
			t.Error(err)
		}
		has(t, c, 0, "x")
		c.Pause(1)
		c.HealAll()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := ddata.DeleteForever(ctx, c.Replicator(0, ddata.DefaultRole), names, ddata.WriteAll); err == nil {
			t.Error("a paused node has acknowledged")
		}
	})
}

// A node that is paused for a moment goes on; one that is paused for long is removed.
func TestPause(t *testing.T) {
	both(t, func(t *testing.T) {
		c := NewCluster(t, 3, nil)
		c.Pause(2)
		if err := add(c, 0, "x", ddata.WriteMajority); err != nil {
			t.Error(err)
		}
		c.Resume(2)
		has(t, c, 2, "x")
		c.Pause(2)
		c.AwaitMembers(2, 0, 1)
		c.Resume(2)
		<-c.Node(2).Done()
	})
}

func TestKillRestartJoinLeave(t *testing.T) {
	both(t, func(t *testing.T) {
		dirs := map[int]string{}
		for i := range 4 {
			dirs[i] = t.TempDir()
		}
		c := NewCluster(t, 3, func(i int, c *ddata.Config) { c.Dir, c.DurableKeys = dirs[i], []string{"names"} })
		if err := add(c, 0, "x", ddata.WriteAll); err != nil {
			t.Error(err)
		}
		before := c.Node(1).UID()
		c.Kill(1)
		if err := c.Node(1).Err(); !errors.Is(err, ddata.ErrClosed) {
			t.Errorf("it has ended with %v", err)
		}
		AwaitView(t, c.Node(0), "the killed node is removed", func(v *view.View) bool { return !v.Has(before) })
		if got := c.Running(); !slices.Equal(got, []int{0, 2}) {
			t.Errorf("running: %v", got)
		}
		c.Restart(1)
		if c.Node(1).UID() == before {
			t.Error("it is the same member")
		}
		if i := c.Join(); i != 3 || c.Len() != 4 {
			t.Errorf("node %d of %d", i, c.Len())
		}
		c.AwaitMembers(4)
		has(t, c, 3, "x")
		c.Leave(0)
		c.AwaitMembers(3)
		if err := c.Node(0).Err(); !errors.Is(err, ddata.ErrLeft) {
			t.Errorf("it has ended with %v", err)
		}
	})
}

// Acknowledged durable data outlives the death of all nodes. edit may make a directory each time: a node keeps
// its first one.
func TestAllAreKilledAndRestarted(t *testing.T) {
	both(t, func(t *testing.T) {
		c := NewCluster(t, 3, func(i int, c *ddata.Config) { c.Dir, c.DurableKeys = t.TempDir(), []string{"names"} })
		if err := add(c, 0, "x", ddata.WriteMajority); err != nil {
			t.Error(err)
		}
		for i := range 3 {
			c.Kill(i)
		}
		c.Restart(2, 0, 1)
		c.AwaitMembers(3)
		has(t, c, 1, "x")
	})
}

// What a killed node does while it ends within the process reaches no other node.
func TestKilledNodeIsSilent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewCluster(t, 2, nil)
		ch, heard := transport.ChannelOf("test"), make(chan struct{}, 2)
		c.Host(0).Channels.Handle(ch, transport.HandlerFunc(func(transport.NodeID, []byte) { heard <- struct{}{} }))
		say := func() {
			_ = c.Host(1).Channels.Append(transport.NodeID(c.Node(0).UID()), transport.Control, 0, ch,
				func(dst []byte) []byte { return append(dst, 'x') }, nil)
		}
		say()
		<-heard
		c.Node(1).OnShutdown(shutdown.ServiceStop, "test", func(context.Context) error {
			say()
			<-time.After(time.Second)
			return nil
		})
		c.Kill(1)
		if len(heard) > 0 {
			t.Error("it was heard")
		}
	})
}

func TestDelay(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewCluster(t, 2, nil)
		began := time.Now()
		if err := add(c, 0, "x", ddata.WriteAll); err != nil || time.Since(began) > 10*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		c.Delay(0, 1, 50*time.Millisecond)
		began = time.Now()
		if err := add(c, 0, "y", ddata.WriteAll); err != nil || time.Since(began) < 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// failing is a test that is to fail, which ends at Fatalf.
type failing struct {
	*testing.T
	texts []string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// wantText runs what must fail, and looks for parts of its text.
func wantText(t *testing.T, fn func(t TB), parts ...string) {
	t.Helper()
	f, over := &failing{T: t}, make(chan struct{})
	go func() {
		defer close(over)
		fn(f)
	}()
	<-over
	text := strings.Join(f.texts, "\n")
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is missing in %q", p, text)
		}
	}
}

// A node that the others have removed while it was paused runs no more, and can be started again.
func TestRemovedNodeIsRestarted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewCluster(t, 3, nil)
		c.Pause(2)
		c.AwaitMembers(2, 0, 1)
		c.Resume(2)
		<-c.Node(2).Done()
		if got := c.Running(); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("these run: %v", got)
		}
		c.Restart(2)
		c.AwaitMembers(3)
	})
}

// What is waited for in vain fails the test, with what was seen last.
func TestFailures(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := NewCluster(t, 2, nil)
		if err := add(c, 0, "x", ddata.WriteAll); err != nil {
			t.Error(err)
		}
		wantText(t, func(t TB) { AwaitMembers(t, c.Node(0), 3) }, "there are 3 members, all Up", "10.0.0.1:7946",
			"10.0.0.2:7946", "deadline exceeded", "last seen: view", "unreachable: []")
		wantText(t, func(t TB) {
			AwaitValue(t, c.Replicator(0, ddata.DefaultRole), names, func(s crdt.ORSet[string]) error {
				return fmt.Errorf("it has %d elements", s.Len())
			})
		}, `key "names"`, "last seen: it has 1 elements")
		wantText(t, func(t TB) {
			NewCluster(t, 2, func(i int, c *ddata.Config) { c.WriteBehind = -time.Duration(i) })
		}, "node 1 of [0 1]", "WriteBehind: is negative", "node 0 of [0 1]")
		looks := 0
		wantText(t, func(t TB) {
			Eventually(t, "the moon is full", func() error {
				looks++
				return fmt.Errorf("look %d", looks)
			})
		}, "waited 1m0s in vain until the moon is full; last seen: look 30")
		wantText(t, func(t TB) { (&Cluster{t: t, members: c.members}).Restart(1) }, "node 1 runs")
		wantText(t, func(t TB) { (&Cluster{t: t, members: c.members}).Replicator(1, "x") }, "node 1", `"x"`)
		c.Kill(1)
		wantText(t, func(t TB) { AwaitMembers(t, c.Node(1), 3) }, "could not wait until there are 3", "closed")
		wantText(t, func(t TB) { (&Cluster{t: t, members: c.members}).Kill(1) }, "node 1 was killed before")
		wantText(t, func(t TB) { (&Cluster{t: t, members: c.members}).Pause(2) }, "no node 2: 2 were started")
		wantText(t, func(t TB) { (&Cluster{t: t, members: c.members}).Cut(1, 1) }, "node 1", "itself")
		wantText(t, func(t TB) { NewCluster(t, 0, nil) }, "a cluster of 0 nodes")
		wantText(t, func(t TB) {
			AwaitValue(t, c.Replicator(1, ddata.DefaultRole), names, func(crdt.ORSet[string]) error { return nil })
		}, "closed")
	})
}

// BenchmarkCluster is how long a cluster takes to start, and to end.
func BenchmarkCluster(b *testing.B) {
	for _, n := range []int{1, 3, 5} {
		b.Run(fmt.Sprint("nodes=", n), func(b *testing.B) {
			for b.Loop() {
				NewCluster(b, n, nil).close()
			}
		})
	}
}
