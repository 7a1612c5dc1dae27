package coordinator

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/region"
)

// ofRoles is a view of members with one role each, in the order of their ages.
func ofRoles(e view.Epoch, roles ...string) *view.View {
	v := &view.View{Epoch: e}
	for i, role := range roles {
		if role != "" {
			v.Members = append(v.Members, view.Member{
				UID: protocol.UID(i + 1), Status: view.Up, UpNumber: uint32(i + 1), Roles: []string{role},
			})
		}
	}
	for _, role := range roles {
		offering(v, protocol.Identity{Name: "t", Role: role})
	}
	return v
}

// begun is the coordinator of role "r" on a node, which has begun its term and has only itself
// to ask.
func begun(t *testing.T, self protocol.UID, v *view.View) (l *lone, said string) {
	t.Helper()
	cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Role: "r", Shards: 4}, Self: self}
	c, err := New(cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	l = &lone{t: t, c: c, now: time.Unix(0, 0)}
	for _, in := range []protocol.CoordinatorInput{
		protocol.LeaseChanged{Held: true}, protocol.Install{View: v}, protocol.DidRead{ID: 1}, protocol.DidRead{ID: 2},
	} {
		said += l.step(in)
	}
	return l, said
}

// TestRolesAreCompared: a coordinator asks the members without its role. It stands down where the
// type is in service under another role, or is begun there by an older coordinator; both roles are
// named. It begins anew when that one is gone.
func TestRolesAreCompared(t *testing.T) {
	for name, c := range map[string]struct {
		self    protocol.UID
		acts    bool // already
		answer  protocol.Compared
		stands  bool // down
		differs bool
	}{
		"absent": {self: 1, answer: protocol.Compared{}},
		"the same role": {
			self: 1, answer: protocol.Compared{Runs: true, Role: "r", Joined: true, Coordinator: 1},
		},
		"in service there": {
			self: 1, answer: protocol.Compared{Runs: true, Role: "q", Joined: true, Coordinator: 2},
			stands: true, differs: true,
		},
		"begun there, by a younger": {
			self: 1, answer: protocol.Compared{Runs: true, Role: "q", Coordinator: 2}, differs: true,
		},
		"begun there, by an older": {
			self: 3, answer: protocol.Compared{Runs: true, Role: "q", Coordinator: 2}, stands: true, differs: true,
		},
		"no coordinator there": {self: 3, answer: protocol.Compared{Runs: true, Role: "q"}, differs: true},
		"both act, this is older": {
			self: 1, acts: true, answer: protocol.Compared{
				Runs: true, Role: "q", Joined: true, Coordinator: 2,
			}, differs: true,
		},
		"both act, this is younger": {
			self: 3, acts: true, answer: protocol.Compared{Runs: true, Role: "q", Joined: true, Coordinator: 2},
			stands: true, differs: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			roles := []string{"", "q", ""}
			roles[c.self-1] = "r"
			l, said := begun(t, c.self, ofRoles(1, roles...))
			l.expect(said, "→2 compare")
			if got := l.report(c.self); strings.Contains(got, "coordinator-started") {
				t.Errorf("it acts before the answer:\n%s", got)
			}
			tries := 0
			if c.acts {
				tries = reportTries
			}
			for range tries {
				l.now = l.now.Add(time.Second)
				said = l.step(protocol.Tick{})
			}
			if c.acts {
				l.expect(said, "coordinator-started")
			}
			got := l.step(protocol.Receive{From: 2, Msg: c.answer})
			if strings.Contains(got, "Role is r here and q there") != c.differs {
				t.Errorf("it says:\n%s", got)
			}
			if down := l.c.term.mode == idle; down != c.stands || !down && l.c.term.mode != active {
				t.Fatalf("stands down: %t, acts: %t", down, l.c.term.mode == active)
			}
			if told := strings.Contains(got,
				`→2 compared role="r" coordinator=1 joined`); told != (c.acts && !c.stands) {
				t.Errorf("the younger coordinator is told: %t", told)
			}
			l.now = l.now.Add(time.Minute)
			if got := l.step(protocol.Tick{}); strings.Contains(got, "compare") {
				t.Errorf("asked again although it was answered:\n%s", got)
			}
			if !c.stands {
				return
			}
			register := protocol.Register{Compatibility: l.c.cfg.Compatibility()}
			l.expect(l.step(protocol.Receive{From: c.self, Msg: register}), `refused shards=4 by xxhash role="q"`)
			roles[1] = "" // it is gone
			l.expect(l.step(protocol.Install{View: ofRoles(2, roles...)}), "read ")
		})
	}
}

// TestOutrankedCoordinatorComesBack: with the view without the other coordinator it asks anew. It
// stands down again if the type is still in service under the other role, and else acts and takes
// the region that it had refused.
func TestOutrankedCoordinatorComesBack(t *testing.T) {
	l, _ := begun(t, 1, ofRoles(1, "r", "q", "q"))
	inService := func(by protocol.UID) protocol.Compared {
		return protocol.Compared{Runs: true, Role: "q", Joined: true, Coordinator: by}
	}
	register := protocol.Receive{From: 1, Msg: protocol.Register{Compatibility: l.c.cfg.Compatibility()}}
	begin := func(e view.Epoch, reads uint64, roles ...string) (said string) {
		t.Helper()
		said = l.step(protocol.Install{View: ofRoles(e, roles...)})
		return said + l.step(protocol.DidRead{ID: reads}) + l.step(protocol.DidRead{ID: reads + 1})
	}
	l.step(protocol.Receive{From: 2, Msg: inService(2)})
	l.expect(l.step(register), `refused shards=4 by xxhash role="q"`)
	if said := begin(2, 3, "r", "q", "q"); l.c.term.mode != idle {
		t.Errorf("it begins beside the other coordinator:\n%s", said)
	}
	l.expect(begin(3, 3, "r", "", "q"), "→3 compare")
	l.step(protocol.Receive{From: 3, Msg: inService(3)})
	l.expect(l.step(register), `refused shards=4 by xxhash role="q"`)
	if l.c.term.mode != idle {
		t.Error("it acts beside regions of the other role")
	}
	begin(4, 5, "r")
	if said := l.report(1); l.c.term.mode != active {
		t.Fatalf("it does not act when all of them are gone:\n%s", said)
	}
	if said := l.step(register); strings.Contains(said, "refused") || l.c.outranked != (other{}) {
		t.Errorf("it refuses its region:\n%s", said)
	}
}

// TestRoleQuestionIsRepeated: with doubling pauses, for a member may never answer.
func TestRoleQuestionIsRepeated(t *testing.T) {
	l, _ := begun(t, 1, ofRoles(1, "r", "q"))
	asked := 0
	for range 64 {
		l.now = l.now.Add(time.Second)
		asked += strings.Count(l.step(protocol.Tick{}), "→2 compare")
	}
	if asked < 4 || asked > 8 {
		t.Errorf("asked %d times in 64 ticks", asked)
	}
}

// TestNodeWithBothRoles: a region obeys the coordinator of its role alone. One of another role that
// inquires of it, because its node has both, learns the role, does not wait for a report, and
// stands down if the type is in service.
func TestNodeWithBothRoles(t *testing.T) {
	both := ofRoles(2, "r", "q")
	both.Members[1].Roles = []string{"q", "r"}
	for name, joined := range map[string]bool{"in service": true, "not yet registered": false} {
		t.Run(name, func(t *testing.T) {
			cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Role: "q", Shards: 4}, Self: 2}
			q, err := region.New(cfg, newRand())
			if err != nil {
				t.Fatal(err)
			}
			step := func(in protocol.RegionInput) string { return q.Step(time.Unix(0, 0), in).String() }
			step(protocol.LeaseChanged{Held: true})
			step(protocol.Install{View: both})
			if joined {
				step(protocol.Receive{
					From: 2, Msg: protocol.Registered{Floor: protocol.Token{Epoch: 1, Up: 2, Seq: 3}},
				})
			}
			l, said := begun(t, 1, both)
			l.expect(said, "→2 inquire 2.1.1")
			l.report(1)
			fx := q.Step(time.Unix(0, 0), protocol.Receive{
				From: 1, Msg: protocol.Inquire{Floor: l.c.term.registrar.floor, Role: "r"},
			})
			if len(fx.Send) != 1 {
				t.Fatalf("it answers:\n%s", fx)
			}
			got := l.step(protocol.Receive{From: 2, Msg: fx.Send[0].Msg})
			l.expect(got, "Role is r here and q there")
			if down := l.c.term.mode == idle; down != joined || !down && l.c.term.mode != active {
				t.Errorf("stands down: %t, acts: %t:\n%s", down, l.c.term.mode == active, got)
			}
			if got := step(protocol.Receive{From: 2, Msg: protocol.HostShards{Shards: []protocol.ShardToken{{Shard: 0,
				Token: protocol.Token{Epoch: 1, Up: 2, Seq: 8}}}}}); !strings.Contains(got, "start-shard 0") {
				t.Errorf("its own coordinator is refused:\n%s", got)
			}
		})
	}
}
