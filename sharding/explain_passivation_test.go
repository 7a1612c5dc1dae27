package sharding

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// What the strategy holds of an entity is told, and why it was passivated.
func TestExplainPassivation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Shards = 1
		typ.Passivation.Strategy = passivation.Strategy{
			ActiveEntityLimit: 3, IdleTimeout: time.Minute, IdleInterval: time.Second,
		}
		g, other := start(w.join("backend"), typ), start(w.join("frontend"), typ)
		w.install()
		ctx := within(t, time.Hour)
		use := func(ids ...string) {
			t.Helper()
			for _, id := range ids {
				if _, err := Ask(ctx, g.Ref(id), total{}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		says := func(id string, want ...string) {
			t.Helper()
			got := g.ExplainPassivation(id).String()
			for _, part := range want {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing in: %s", part, got)
				}
			}
		}
		if got := other.ExplainPassivation("a").String(); got != `"a" is of shard 0, whose home is not known here` {
			t.Error(got)
		}
		use("a", "b")
		<-time.After(10*time.Second + time.Second/2)
		st := g.ExplainPassivation("a") // the interval in which a was used has begun at a random time before
		if st.Idle < 10*time.Second || st.Idle > 11*time.Second || st.Next != "" || st.Kept != 2 || st.Limit != 3 {
			t.Errorf("%+v", st)
		}
		says("a", `"a" is active`, fmt.Sprintf("no message for about %v, it goes after 1m0s", st.Idle),
			"of 2 active in its shard, with room for 3: main area, 2 of 3", "there is room")
		use("c")
		says("a", "it goes next")
		says("b", `"a" goes next`)
		use("a")
		says("a", `"b" goes next`, "no message for about 0s")
		use("d") // and b has to go
		says("b", `"b" is not active`, "passivated at ", "limit because its shard has room for 3")
		if st := g.ExplainPassivation("b"); st.Active || len(st.Last) != 1 ||
			st.Last[0].Cause != protocol.CauseLimit || st.Next != "c" {
			t.Errorf("%+v", st)
		}
		<-time.After(2 * time.Minute)
		says("d", "is not active", "idle for too long")
		use("b")
		if err := g.Passivate(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if st := g.ExplainPassivation("b"); len(st.Last) != 2 || st.Last[0].Cause != protocol.CauseRequest {
			t.Errorf("the latest is not first: %v", st)
		}
		if _, err := Ask(ctx, other.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the answer may come before the word where the shard is
		if got := other.ExplainPassivation("a").String(); !strings.Contains(got,
			fmt.Sprintf("which lives on %v: ask there", g.UID())) {
			t.Error(got)
		}
		for i := range 2 * entities.HistoryMax {
			g.plane.Entities.Passivations.Latest.Note(entities.Passivated{ID: fmt.Sprint(i)})
		}
		if n := len(g.plane.Entities.Passivations.Latest.Ring); n != entities.HistoryMax ||
			g.plane.Entities.Passivations.Latest.Of("b") != nil ||
			len(g.plane.Entities.Passivations.Latest.Of(fmt.Sprint(2*entities.HistoryMax-1))) != 1 {
			t.Errorf("%d passivations are kept", n)
		}
	})
}

// Where nothing passivates by itself, that is what is told.
func TestExplainNoPassivation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Remember.Entities = true
		g := start(w.join("backend"), typ)
		w.install()
		if _, err := Ask(within(t, time.Minute), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		if got := g.ExplainPassivation("a").String(); got != `"a" is active; nothing but Passivate makes it go` {
			t.Error(got)
		}
	})
}
