package sharding

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A coordinator that cannot write its state says so in the log as a warning, with the key, the
// level, and the replicas that are missing.
func TestACoordinatorWithoutStateSaysWhatIsMissing(t *testing.T) {
	nodes := byAge(t, 3)
	typ := cartType(&cartLog{})
	typ.Quorums = Quorums{WritePlus: All, WriteTimeout: 300 * time.Millisecond}
	state := keyspace.Dataset{Role: typ.Role, Reserved: true}
	nodes[2].Host().Channels.Handle(transport.ChannelOf(state.Channel()), deafHandler{})
	said := make(chan protocol.Event, 100)
	typ.OnEvent = onNotes(func(e protocol.Event) {
		if e.Kind == protocol.StateDelayed {
			said <- e
		}
	})
	begin(t, nodes[0], typ)
	begin(t, nodes[1], typ)
	select {
	case e := <-said:
		for _, want := range []string{"write of sharding/" + typ.Name + "/", " All", nodes[2].Addr()} {
			if !strings.Contains(e.Text, want) {
				t.Errorf("%q is not in %s", want, e.Text)
			}
		}
		if line := (Event{Type: typ.Name, What: e}).Line(); line.Level != slog.LevelWarn || e.Alarm() {
			t.Errorf("%v, alarm %t", line, e.Alarm())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was said")
	}
}
