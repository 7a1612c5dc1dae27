package ddata

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/transport"
)

// What another node has waiting in front of the membership and of a Replicator is bounded for each,
// what is above it is counted, and what was taken makes room. The machines are held up in the middle of
// a step.
func TestPeersInboxesAreBounded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n, err := Start(ctx, Config{
		Name: "test", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: LAN,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	r, err := n.Replicator("backend")
	if err != nil {
		t.Fatal(err)
	}
	const stranger, crowd = transport.NodeID(4711), 10_000
	probe := message.Append(nil, message.Heartbeat{})
	held := func(force func(do func()) bool) (free func()) {
		began, end := make(chan struct{}), make(chan struct{})
		force(func() { close(began); <-end })
		<-began
		return func() { // and waits until all that waited was taken
			close(end)
			done := make(chan struct{})
			force(func() { close(done) })
			<-done
		}
	}
	for what, c := range map[string]struct {
		send func()
		hold func() (free func())
	}{
		"membership": {func() { n.members.receive(stranger, probe) }, func() func() {
			return held(func(do func()) bool { return n.members.loop.Force(memberInput{do: do}) })
		}},
		"replicator": {func() { r.receive(stranger, []byte("junk")) }, func() func() {
			return held(func(do func()) bool { return r.loop.Force(request{do: func(*replicaHost) { do() }}) })
		}},
	} {
		var lost []uint64
		for range 2 {
			free := c.hold()
			was := n.net.Stats().Dropped[transport.DropInbox]
			for range crowd {
				c.send()
			}
			lost = append(lost, n.net.Stats().Dropped[transport.DropInbox]-was)
			free()
		}
		if lost[0] == 0 || lost[0] >= crowd || lost[1] != lost[0] {
			t.Errorf("%s: of twice %d messages that waited, %v were given up", what, crowd, lost)
		}
	}
}
