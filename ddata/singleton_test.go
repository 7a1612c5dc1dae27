package ddata_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// stage is where one singleton runs: it notes the node that is on it, and whether two were.
type stage struct {
	mu     sync.Mutex
	on     *ddata.Node
	two    bool
	token  ddata.FencingToken // of the last run
	back   bool               // a token did not rise from one run to the next
	enters chan *ddata.Node
}

func newStage() *stage { return &stage{enters: make(chan *ddata.Node, 64)} }

func (s *stage) run(n *ddata.Node) func(context.Context, ddata.FencingToken) error {
	return func(ctx context.Context, token ddata.FencingToken) error {
		s.mu.Lock()
		s.two = s.two || s.on != nil && s.on.HoldsLease()
		s.back = s.back || !s.token.Less(token)
		s.on, s.token = n, token
		s.mu.Unlock()
		s.enters <- n
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.on == n {
			s.on = nil
		}
		return nil
	}
}

func (s *stage) next(t *testing.T) *ddata.Node {
	t.Helper()
	select {
	case n := <-s.enters:
		return n
	case <-time.After(limit):
		t.Fatal("no node runs it")
		return nil
	}
}

func (s *stage) verdict(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.two || s.back {
		t.Errorf("two ran it: %t; a token that did not rise: %t", s.two, s.back)
	}
}

// Each of three nodes leaves in turn: the singleton goes from the oldest to the next, and there is
// never a second.
func TestSingletonMovesWhenNodesLeave(t *testing.T) {
	addrs := freeAddrs(t, 3)
	configs := make([]ddata.Config, 3)
	seen := map[string]*watched{}
	for i := range configs {
		configs[i] = config(addrs[i], addrs, 3)
		seen[addrs[i]] = watch(&configs[i])
	}
	nodes := startAll(t, configs...)
	s := newStage()
	parts := map[*ddata.Node]*ddata.Singleton{}
	for _, n := range nodes {
		part, err := n.RunSingleton(ddata.SingletonConfig{Name: "clerk", Run: s.run(n)})
		if err != nil {
			t.Fatal(err)
		}
		parts[n] = part
	}
	for range nodes {
		n := s.next(t)
		if oldest, _ := n.View().Oldest("backend"); oldest.UID != n.UID() && oldest.Status != view.Leaving {
			t.Errorf("%v runs it, the oldest is %v", n.UID(), oldest)
		}
		if got := parts[n].String(); !strings.Contains(got, "running") {
			t.Errorf("printed as %s", got)
		}
		if err := n.Leave(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if got := parts[n].State(); got != singleton.HandedOver {
			t.Errorf("after leaving: %v", got)
		}
		var told []ddata.SingletonState
		for _, e := range seen[n.Addr()].events() {
			if e, ok := e.(events.SingletonChanged); ok && e.Name == "clerk" && e.Role == "backend" {
				told = append(told, e.State)
			}
		}
		end := []ddata.SingletonState{singleton.Running, singleton.Stopping, singleton.HandedOver}
		if n := len(told) - len(end); n < 0 || !slices.Equal(told[n:], end) {
			t.Errorf("the events tell %v", told)
		}
	}
	s.verdict(t)
}

// A singleton that does not stop holds Leave up, and is named.
func TestSingletonThatDoesNotStop(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		c := mem.config(mem.addrs(1)[0], nil, 1)
		w := watch(&c)
		n := startAll(t, c)[0]
		release := make(chan struct{})
		defer close(release)
		entered := make(chan struct{})
		_, err := n.RunSingleton(ddata.SingletonConfig{Name: "stubborn",
			Run: func(context.Context, ddata.FencingToken) error {
				close(entered)
				<-release
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		<-entered
		if err := n.Leave(within(t, 100*time.Millisecond)); err == nil ||
			!strings.Contains(err.Error(), `singleton "stubborn" does not stop`) {
			t.Errorf("left with %v", err)
		}
		has(t, w, func(e events.SingletonOutlived) bool { return e.Name == "stubborn" && e.Role == "backend" })
	})
}

// One that ends by itself is called again, with its node still the oldest.
func TestSingletonIsCalledAgain(t *testing.T) {
	c := config(freeAddrs(t, 1)[0], nil, 1)
	w := watch(&c)
	n := startAll(t, c)[0]
	calls := make(chan struct{}, 64)
	_, err := n.RunSingleton(ddata.SingletonConfig{Name: "brief",
		RestartAfter: time.Millisecond, Run: func(context.Context, ddata.FencingToken) error {
			select {
			case calls <- struct{}{}:
			default:
			}
			return errors.New("enough")
		}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		select {
		case <-calls:
		case <-time.After(limit):
			t.Fatal("not called again")
		}
	}
	has(t, w, func(e events.SingletonFailed) bool {
		return e.Name == "brief" && e.Err.Error() == "enough" && e.Again == time.Millisecond
	})
}

// TestSingletonTokensRiseWhenDirectoriesAreLost: a cluster that is founded without the directories
// of the former one begins with epoch 1 again. Its runs have higher tokens all the same.
func TestSingletonTokensRiseWhenDirectoriesAreLost(t *testing.T) {
	var before ddata.FencingToken
	for range 2 {
		n := alone(t, t.TempDir(), nil)
		s := newStage()
		if _, err := n.RunSingleton(ddata.SingletonConfig{Name: "clerk", Run: s.run(n)}); err != nil {
			t.Fatal(err)
		}
		s.next(t)
		mustClose(t, n)
		if !before.Less(s.token) || before.Era != 0 && before.Epoch != s.token.Epoch {
			t.Errorf("token %v after %v", s.token, before)
		}
		before = s.token
	}
}

func TestSingletonRefuses(t *testing.T) {
	n := startCluster(t, 1, nil)[0]
	run := func(ctx context.Context, _ ddata.FencingToken) error { <-ctx.Done(); return nil }
	if _, err := n.RunSingleton(ddata.SingletonConfig{Name: "one", Run: run}); err != nil {
		t.Fatal(err)
	}
	for says, c := range map[string]ddata.SingletonConfig{ // order: each is tried by itself
		"that name":     {Name: "one", Run: run},
		"is empty":      {Run: run},
		"Run is nil":    {Name: "two"},
		"RestartAfter":  {Name: "two", Run: run, RestartAfter: -1},
		"have the role": {Name: "two", Run: run, Role: "absent"},
		"more than 64":  {Name: strings.Repeat("x", 65), Run: run},
		"is not UTF-8":  {Name: "\xff", Run: run},
	} {
		if _, err := n.RunSingleton(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	mustClose(t, n)
	if _, err := n.RunSingleton(ddata.SingletonConfig{Name: "late", Run: run}); !errors.Is(err, ddata.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// singletonEnv makes this test binary a node that founds a cluster alone and runs the singleton
// until it is killed.
const singletonEnv = "COTERIE_DDATA_TEST_SINGLETON"

func runSingletonChild(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	n, err := ddata.Start(ctx, config(addr, []string{addr}, 1))
	if err != nil {
		return err
	}
	_, err = n.RunSingleton(ddata.SingletonConfig{Name: "clerk",
		Run: func(ctx context.Context, token ddata.FencingToken) error {
			fmt.Printf("%x\n", token.Bytes())
			<-ctx.Done()
			return nil
		}})
	if err != nil {
		return err
	}
	<-n.Done()
	return n.Err()
}

// The process of the oldest is killed: the next in age runs it once a view says that the dead one
// is gone, with a higher token.
func TestSingletonSurvivesAKill(t *testing.T) {
	addrs := freeAddrs(t, 3)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), singletonEnv+"="+addrs[0])
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	token, err := hex.DecodeString(strings.TrimSpace(line))
	if err != nil || len(token) != singleton.TokenSize {
		t.Fatalf("token %q: %v", line, err)
	}
	nodes := startAll(t, config(addrs[1], addrs, 0), config(addrs[2], addrs, 0))
	s := newStage()
	for _, n := range nodes {
		if _, err := n.RunSingleton(ddata.SingletonConfig{Name: "clerk", Run: s.run(n)}); err != nil {
			t.Fatal(err)
		}
	}
	oldest, _ := nodes[0].View().Oldest("")
	select {
	case n := <-s.enters:
		t.Fatalf("%v runs it beside %v", n.UID(), oldest)
	default:
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n := s.next(t)
	if n.View().Has(oldest.UID) {
		t.Errorf("taken over in %v", n.View())
	}
	s.mu.Lock()
	if bytes.Compare(s.token.Bytes(), token) <= 0 {
		t.Errorf("token %v after %x", s.token, token)
	}
	s.mu.Unlock()
	s.verdict(t)
}
