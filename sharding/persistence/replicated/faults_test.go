package replicated_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/transport/faulty"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// parted is three nodes with wires between them that a test may cut. No node is removed.
type parted struct {
	*cluster
	wires  *faulty.Wires
	addrs  []string
	stores []*replicated.Store
}

func startParted(t testing.TB, mistakes ...func(*replicated.Store)) *parted {
	t.Helper()
	p := &parted{wires: faulty.New(1), addrs: make([]string, 3), cluster: &cluster{}}
	t.Cleanup(p.wires.Close)
	for range p.addrs {
		p.dirs = append(p.dirs, t.TempDir())
	}
	p.nodes = ddatatest.StartWith(t, len(p.addrs), func(i int, c *ddata.Config) {
		p.addrs[i], c.Roles, c.Dir = c.Bind, []string{role}, p.dirs[i]
		c.Preset, c.Downing, c.Network = ddata.LAN, downing.Manual{}, p.wires.At(c.Bind, c.Network)
	})
	for _, n := range p.nodes {
		s := open(t, n)
		for _, plant := range mistakes {
			plant(s)
		}
		p.stores = append(p.stores, s)
	}
	return p
}

// cut parts the first node from the others.
func (p *parted) cut() {
	p.wires.CutBoth(p.addrs[0], p.addrs[1])
	p.wires.CutBoth(p.addrs[0], p.addrs[2])
}

func hosting(token uint64) persistence.Hosting {
	return persistence.Hosting{Type: "T", Shard: 7, Token: singleton.FencingToken{Era: 1, Epoch: 1, Seq: token}}
}

func write(id protocol.EntityID, after uint64, body string) persistence.Write {
	return persistence.Write{Entity: id, After: after, ID: after + 1, Events: []persistence.Event{
		{Seq: after + 1, Name: "e", Body: []byte(body), At: time.UnixMicro(1)},
	}}
}

// patience is far more than anything here takes on a machine that is not broken.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appended(t testing.TB, s *replicated.Store, h persistence.Hosting, w persistence.Write) {
	t.Helper()
	refused, err := s.Append(patience(t), h, []persistence.Write{w})
	if err != nil || len(refused) > 0 {
		t.Fatalf("append: %v, refused %v", err, refused)
	}
}

func bodies(t testing.TB, s *replicated.Store, h persistence.Hosting, id protocol.EntityID) (out []string) {
	t.Helper()
	_, err := s.Load(patience(t), h, []persistence.Read{{Entity: id}}, func(_ int, e persistence.Event) error {
		out = append(out, string(e.Body))
		return nil
	})
	must(t, err)
	return out
}

// eventually waits until what a node holds is what is wanted.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, tick := patience(t), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(what, "has not happened")
		}
	}
}

// deposed has an owner write while it is cut off, and its successor begin and write meanwhile. It
// returns what was wrong after they can talk again.
func deposed(t *testing.T, mistakes ...func(*replicated.Store)) (wrong []error) {
	p := startParted(t, mistakes...)
	a, b, old, now := p.stores[0], p.stores[1], hosting(1), hosting(2)
	must(t, a.Fence(patience(t), old))
	appended(t, a, old, write("e", 0, "first"))
	p.cut()
	answer := make(chan error, 1)
	go func() {
		_, err := a.Append(patience(t), old, []persistence.Write{write("e", 1, "late"), write("f", 0, "late")})
		answer <- err
	}()
	eventually(t, "the write of the old owner", func() bool { return a.Holds(t, old, "f") == 1 })
	must(t, b.Fence(patience(t), now))
	found := bodies(t, b, now, "e")
	appended(t, b, now, write("e", uint64(len(found)), "second"))
	p.wires.HealAll()
	if err := <-answer; !errors.Is(err, persistence.ErrFenced) {
		wrong = append(wrong, fmt.Errorf("the old owner got %v", err))
	}
	for i, s := range p.stores {
		eventually(t, "the meeting of the writes", func() bool {
			_ = s.Fence(patience(t), now)
			return s.Holds(t, now, "f") == 1 && s.Holds(t, now, "e") >= 2
		})
		if got := bodies(t, s, now, "e"); !slices.Equal(got, []string{"first", "second"}) {
			wrong = append(wrong, fmt.Errorf("node %d shows %q", i, got))
		}
		if got := bodies(t, s, now, "f"); len(got) > 0 {
			wrong = append(wrong, fmt.Errorf("node %d shows %q of the old owner", i, got))
		}
	}
	refused, err := b.Append(patience(t), now, []persistence.Write{write("f", 0, "mine")})
	if err != nil || len(refused) > 0 {
		wrong = append(wrong, fmt.Errorf("a write in its place: %v, refused %v", err, refused))
	}
	if got := bodies(t, p.stores[2], now, "f"); !slices.Equal(got, []string{"mine"}) {
		wrong = append(wrong, fmt.Errorf("after a write in its place there is %q", got))
	}
	return wrong
}

// What an owner writes while a successor takes over is void, on every node, and it is told so.
func TestAnOwnerThatWasCutOff(t *testing.T) {
	if wrong := deposed(t); len(wrong) > 0 {
		t.Error(errors.Join(wrong...))
	}
}

func TestMistakes(t *testing.T) {
	for name, mistake := range map[string]func(*replicated.Store){
		"no second read": replicated.NoLook, "no rows": replicated.NoRows, "all count": replicated.AllCount,
	} { // order: each has a cluster of its own
		t.Run(name, func(t *testing.T) {
			wrong := deposed(t, mistake)
			if len(wrong) == 0 {
				t.Error("not caught")
			}
			t.Log(errors.Join(wrong...))
		})
	}
}

// A node that lost its disk, and joins again, holds nothing back and shows what the others show.
func TestANodeThatLostItsDisk(t *testing.T) {
	c := start(t, t.TempDir(), t.TempDir(), t.TempDir())
	h := hosting(1)
	must(t, open(t, c.nodes[2]).Fence(patience(t), h))
	appended(t, open(t, c.nodes[2]), h, write("e", 0, "1"))
	must(t, c.nodes[2].Leave(patience(t)))
	appended(t, open(t, c.nodes[0]), h, write("e", 1, "2"))
	again := c.join(t, t.TempDir())
	if got := bodies(t, open(t, again), h, "e"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("it shows %q", got)
	}
	appended(t, open(t, again), h, write("e", 2, "3"))
	if got := bodies(t, open(t, c.nodes[1]), h, "e"); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("another node shows %q", got)
	}
}

// The rows of seats of which nothing is alive go, and those of the others stay.
func TestRowsAreBounded(t *testing.T) {
	s := open(t, start(t, t.TempDir()).nodes[0])
	const hostings, kept = 400, 3
	for i := range uint64(hostings) {
		h := hosting(i + 1)
		must(t, s.Fence(patience(t), h))
		if i < kept {
			appended(t, s, h, write("e", i, "kept"))
		}
		if n := s.Rows(t, h); n > 70 {
			t.Fatalf("%d rows after %d hostings", n, i)
		}
	}
	if got := bodies(t, s, hosting(hostings), "e"); len(got) != kept {
		t.Errorf("%d events, want %d", len(got), kept)
	}
}
