package ddata_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/shutdown"
	"github.com/coterie-go/coterie/ddata/transport"
)

// watched collects the events of a node.
type watched struct {
	mu   sync.Mutex
	all  []events.Event
	news chan struct{}
}

func watch(c *ddata.Config) *watched {
	w := &watched{news: make(chan struct{}, 1)}
	c.OnEvent = func(e events.Event) {
		w.mu.Lock()
		w.all = append(w.all, e)
		w.mu.Unlock()
		select {
		case w.news <- struct{}{}:
		default:
		}
	}
	return w
}

func (w *watched) events() []events.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// has waits for an event of a type that is wanted.
func has[E events.Event](t *testing.T, w *watched, want func(E) bool) {
	t.Helper()
	late := time.After(limit)
	for {
		for _, e := range w.events() {
			if e, ok := e.(E); ok && want(e) {
				return
			}
		}
		select {
		case <-w.news:
		case <-late:
			t.Fatalf("no such %v; there were %v", reflect.TypeFor[E](), w.events())
		}
	}
}

func anyOf[E events.Event](E) bool { return true }

// What a cluster of three tells: its founding, a member that falls silent and is removed, one that
// leaves, one that an operator downs.
func TestTheLifeOfAClusterIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(4)
		configs := make([]ddata.Config, 4)
		seen := make([]*watched, 4)
		for i := range configs {
			configs[i] = mem.config(addrs[i], addrs[:3], 3)
			seen[i] = watch(&configs[i])
		}
		nodes := startAll(t, configs[:3]...)
		w := seen[0]
		has(t, w, func(e events.ViewInstalled) bool { return len(e.View.Members) == 3 })
		has(t, w, func(e events.LeaseGained) bool { return e.Epoch > 0 })
		has(t, w, anyOf[events.MemberJoined])
		has(t, w, func(e events.MemberUp) bool { return e.Member.UID == nodes[1].UID() })
		has(t, w, anyOf[events.CaughtUp])
		has(t, w, anyOf[events.LinkUp])
		oldest, _ := nodes[0].View().Oldest("backend")
		has(t, w, func(e events.OldestChanged) bool {
			return e.Role == "backend" && e.Member.UID == oldest.UID && e.Self == (e.Member.UID == nodes[0].UID())
		})

		stranger := mem.config(mem.addrs(1)[0], addrs[:1], 0)
		stranger.Name = "other"
		if _, err := ddata.Start(testContext(t), stranger); err == nil {
			t.Fatal("it started")
		}
		has(t, w, func(e events.ConnectionRefused) bool { return e.Refusal.Inbound && e.Refusal.Loud })
		stranger.Name, stranger.DurableKeys, stranger.VotersMax = "test", nil, 5
		stranger.Bind = mem.addrs(1)[0]
		stranger.Network = mem.hub.At(stranger.Bind)
		if _, err := ddata.Start(testContext(t), stranger); err == nil {
			t.Fatal("it started")
		}
		has(t, w, func(e events.NodeRefused) bool { return e.Addr == stranger.Bind })

		for _, channel := range []string{"membership", "replicator/backend"} {
			err := send(nodes[1], nodes[0], channel, []byte{0xff})
			if err != nil {
				t.Fatal(err)
			}
		}
		has(t, w, func(e events.MessageMalformed) bool { return e.What == "membership" && e.Peer == nodes[1].UID() })
		has(t, w, func(e events.MessageMalformed) bool { return e.What == "replicator" && e.Peer == nodes[1].UID() })
		has(t, w, func(e events.PeerMalformed) bool {
			return e.Role == "backend" && e.Peer == nodes[1].UID() && e.Count == 1
		})

		silent := nodes[2]
		mustClose(t, silent)
		has(t, w, func(e events.MemberUnreachable) bool { return e.Member.UID == silent.UID() })
		has(t, w, func(e events.MemberRemoved) bool { return e.Member.UID == silent.UID() })
		has(t, w, func(e events.LinkDown) bool { return view.UID(e.Link.Peer) == silent.UID() })
		has(t, w, anyOf[events.ConnectionFault])
		has(t, seen[2], func(e events.NodeEnded) bool { return e.Err == ddata.ErrClosed && !e.Warn })

		third := startAll(t, configs[3])[0]
		// a leave with nothing to hand over may come to a view without the member at once
		third.OnShutdown(shutdown.ClusterExiting, "watch", func(context.Context) error {
			has(t, w, func(e events.MemberLeaving) bool { return e.Member.UID == third.UID() })
			return nil
		})
		if err := third.Leave(testContext(t)); err != nil {
			t.Fatal(err)
		}
		has(t, seen[3], func(e events.LeaseLost) bool { return e.Why == membership.LeaseStopped })
		if err := nodes[0].Down(nodes[1].UID()); err != nil {
			t.Fatal(err)
		}
		<-nodes[1].Done()
		has(t, seen[1], anyOf[events.Downed])
		has(t, seen[1], func(e events.NodeEnded) bool { return e.Warn })
	})
}

// A founder that is alone says what it waits for, and what it could not send.
func TestWaitingIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(2)
		c := mem.config(addrs[0], addrs, 2)
		w := watch(&c)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := ddata.Start(ctx, c)
			ended <- err
		}()
		has(t, w, func(e events.Waiting) bool { return strings.Contains(e.Reason, "2") })
		has(t, w, func(e events.FramesDropped) bool { return e.Reason == transport.DropUnreachable && e.Count > 0 })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// What a store tells, of what has become unreachable in it too.
func TestTheStoreIsSeen(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		c := mem.config(mem.addrs(1)[0], nil, 1)
		c.Dir, c.DurableKeys = dir, []string{"kept/*"}
		c.Store.MapSize = 1 << 20
		w := watch(&c)
		n := startAll(t, c)[0]
		err := ddata.Update(testContext(t), replica(t, n),
			ddata.NewKey[crdt.LWWMap[int, []byte]]("kept/files"), ddata.WriteMajority,
			func(tx *crdt.LWWMapTx[int, []byte]) error {
				for i := range 40 {
					if err := tx.Put(i, make([]byte, 100_000)); err != nil {
						return err
					}
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		has(t, w, func(e events.StoreGrown) bool { return e.To > e.From })
		mustClose(t, n)
		c.DurableKeys = []string{"other/*"}
		w = watch(&c)
		mustClose(t, startAll(t, c)[0])
		has(t, w, func(e events.UnnamedKeys) bool { return slices.Equal(e.Patterns, []string{"kept/*"}) })
		c.Roles = []string{"front"}
		w = watch(&c)
		mustClose(t, startAll(t, c)[0])
		has(t, w, func(e events.StaleRole) bool {
			return e.Role == "backend" && slices.Equal(e.Roles, []string{"front"})
		})
	})
}

// A listener without callbacks, and a log that takes nothing below a level, are no trouble; a line
// of the log is an event, once.
func TestTheLogIsTheEvents(t *testing.T) {
	var log lines
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.Logger = slog.New(slog.NewTextHandler(&log,
		&slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	w := watch(&c)
	n := startAll(t, c)[0]
	mustClose(t, n)
	want := map[string]int{}
	for _, e := range w.events() {
		var b bytes.Buffer
		l := e.Line()
		slog.New(slog.NewTextHandler(&b, nil)).With("node",
			n.UID().String()).LogAttrs(t.Context(), slog.LevelError, l.Message, l.Attrs...)
		_, text, _ := strings.Cut(b.String(), " msg=")
		want[fmt.Sprintf("level=%v msg=%s", l.Level, text)]++
	}
	got := map[string]int{}
	for l := range strings.Lines(log.String()) {
		got[l]++
	}
	if len(want) < 5 || !reflect.DeepEqual(got, want) {
		t.Errorf("the log says\n%v\nthe events are\n%v", got, want)
	}
}
