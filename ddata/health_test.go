package ddata

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Each thing that a node may lack has its reason.
func TestHealthNamesWhatIsMissing(t *testing.T) {
	n, err := Start(t.Context(), Config{
		Name: "test", Bind: "127.0.0.1:0",
		BootstrapExpect: 1, Preset: Local, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	check := func(live bool, want string) {
		t.Helper()
		if h := n.Health(); h.Live != live || h.Ready || !strings.Contains(h.String(), want) {
			t.Errorf("%v, want %q", h, want)
		}
	}
	r := n.replicas[keyspace.Dataset{Role: DefaultRole}]
	fault := errors.New("no space")
	r.storeFault.Store(&fault)
	check(true, `the store of the data of role "default" failed: no space`)
	r.storeFault.Store(nil)

	looked := make(chan struct{})
	r.loop.Force(request{do: func(*replicaHost) { // which reports nothing meanwhile
		defer close(looked)
		set := func(yes bool) { n.progress.reached(keyspace.Dataset{Role: DefaultRole}, yes, 0) }
		set(false)
		check(true, `the data of role "default" is not here yet`)
		set(true)
	}})
	<-looked

	v := n.view.Load()
	n.view.Store(&view.View{})
	check(true, "no view yet")
	joining := *v
	joining.Members = []view.Member{{UID: n.uid, Status: view.Joining}}
	n.view.Store(&joining)
	check(true, "joining: ")
	n.view.Store(v)

	if h := n.Health(); !h.Ready || !h.Live {
		t.Error(h)
	}
	cancel := n.Host().Lifecycle.OnHealth(func() []string { return []string{"a layer is not ready"} })
	n.Host().Lifecycle.OnHealth(func() []string { return nil })
	check(true, "a layer is not ready")
	cancel()
	if h := n.Health(); !h.Ready {
		t.Error(h)
	}
	block := make(chan struct{})
	in := make(chan struct{})
	for role, loop := range map[string]interface{ Busy(time.Time) time.Duration }{
		"membership": n.members.loop, "replicator": r.loop,
	} {
		do := func() { in <- struct{}{}; <-block }
		if role == "membership" {
			n.members.loop.Force(memberInput{do: do})
		} else {
			r.loop.Force(request{do: func(*replicaHost) { do() }})
		}
		<-in
		if d := loop.Busy(time.Now().Add(time.Minute)); d < 59*time.Second || d > 61*time.Second {
			t.Errorf("%s: busy for %v", role, d)
		}
	}
	if s := n.stuck(time.Now().Add(time.Minute)); len(s) != 2 ||
		!strings.Contains(s[0], "membership has stood still for 1m") ||
		!strings.Contains(s[1], "replicator of the data of role") {
		t.Errorf("stuck: %q", s)
	}
	if s := n.stuck(time.Now()); len(s) > 0 {
		t.Errorf("stuck at once: %q", s)
	}
	close(block)
	_ = n.Close()
	if h := n.Health(); h.Live || h.Ready || !strings.Contains(h.String(), "start the node again") {
		t.Error(h)
	}
}
