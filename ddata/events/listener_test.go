package events

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Each event prints itself as its line, and no two have the same message, so that a log can be
// searched.
func TestEventsPrintThemselves(t *testing.T) {
	messages := map[string]string{}
	for _, e := range kinds {
		switch e.(type) {
		case ViewInstalled:
			e = ViewInstalled{&view.View{}}
		case KeysMoving:
			e = KeysMoving{&view.View{}}
		case FormatRaised:
			e = FormatRaised{View: &view.View{}}
		case KeysDurable:
			e = KeysDurable{&view.View{}}
		case KeysWaiting:
			e = KeysWaiting{View: &view.View{}}
		case RetirementBegan:
			e = RetirementBegan{&view.View{Ages: &view.Ages{}}}
		case RetirementEnded:
			e = RetirementEnded{&view.View{Ages: &view.Ages{}}}
		case RetirementWaiting:
			e = RetirementWaiting{View: &view.View{}}
		}
		var b bytes.Buffer
		log := Log(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug})))
		log(e)
		l := e.Line()
		if !strings.HasPrefix(e.String(), l.Message) || l.Message == "" || !strings.Contains(b.String(), l.Message) ||
			!strings.Contains(b.String(), l.Level.String()) {
			t.Errorf("%T prints %q, its line in the log is %q", e, e, b.String())
		}
		if was, twice := messages[l.Message]; twice {
			t.Errorf("%T and %s have the message %q", e, was, l.Message)
		}
		messages[l.Message] = reflect.TypeOf(e).Name()
	}
}

// What an operator should look at is a warning, what must never happen an error.
func TestLevels(t *testing.T) {
	loud := map[slog.Level][]Event{
		slog.LevelWarn: {
			MemberUnreachable{}, LeaseLost{}, SingletonFailed{}, SingletonOutlived{}, Discovered{Err: errors.New("x")},
			Discovered{Addrs: []string{"a:1"}, Err: errors.New("x")}, Gossiped{Warn: true}, Downed{}, ArbiterGiven{},
			ArbiterFailing{}, ConnectionRefused{transport.Refusal{Loud: true}},
			ConnectionFault{transport.ConnectionFault{Loud: true}},
			FramesDropped{Reason: transport.DropQueueFullControl}, WritersHeld{}, KeyLarge{},
			PeerMalformed{}, StaleRole{},
			StoreCompacted{Err: errors.New("x")}, ShutdownPhase{Unfinished: []string{"x"}},
			ShutdownPhase{Err: errors.New("x")}, NodeEnded{Warn: true},
		},
		slog.LevelError: {
			MachineBroken{}, UserCodePanicked{}, Forked{}, SecondCluster{}, MajorityLost{}, Diverged{}, StoreFailed{},
		},
		slog.LevelInfo: {
			LeaseLost{Why: membership.LeaseStopped}, NodeEnded{}, ShutdownPhase{}, StoreCompacted{}, MemberReachable{},
			SingletonChanged{}, Discovered{},
		},
		slog.LevelDebug: {
			Gossiped{}, ConnectionRefused{}, ConnectionFault{},
			FramesDropped{Reason: transport.DropPacket}, LinkUp{}, LinkDown{},
		},
	}
	for level, all := range loud {
		for _, e := range all {
			if got := e.Line().Level; got != level {
				t.Errorf("%T: %v, want %v", e, got, level)
			}
		}
	}
}

func TestEventsOfTheMembership(t *testing.T) {
	m := view.Member{UID: 1, Addr: "a:1"}
	retired := &view.View{Epoch: 9, Ages: &view.Ages{
		Ended:  view.Retirement{Below: 0xf00001 << 40},
		Ending: view.Retirement{Below: 0xf00002 << 40, Spared: []view.UID{1}},
	}}
	known := map[string]bool{}
	for in, want := range map[membership.Event]string{
		membership.KeysMoving{View: &view.View{Moving: []string{"a/*"}}}: "keys become durable keys=[a/*]",
		membership.KeysWaiting{View: &view.View{Moving: []string{"a/*"}},
			Missing: "1@a:1"}: "updates of keys that become durable wait for members that have not done their part " +
			"keys=[a/*] members=1@a:1",
		membership.FormatRaised{From: 1, View: &view.View{Format: 2}}: "all members speak a higher format level, " +
			"which is written from now on from=1 to=2",
		membership.RetirementBegan{View: retired}: "incarnations that are over begin to retire view=e9 " +
			"which=below f00002 but 1",
		membership.RetirementEnded{View: retired}: "incarnations that are over have retired view=e9 " +
			"which=below f00001 but 0",
		membership.RetirementWaiting{View: retired, Missing: "1@a:1"}: "incarnations that are over cannot retire " +
			"before members have said what they have of them view=e9 members=1@a:1",
		membership.KeysDurable{View: &view.View{Durable: []string{"a/*"}}}: "keys are durable keys=[a/*]",
		membership.ArbiterTaken{Epoch: 2}:                                  "arbiter's lease taken epoch=e2",
		membership.ArbiterGiven{Reason: "r"}:                               "arbiter's lease given up reason=r",
		membership.ArbiterFailing{Reason: "r"}: "arbiter's lease cannot be used " +
			"reason=r",
		membership.Waiting{Reason: "r"}:         "waiting reason=r",
		membership.Downed{Reason: "r"}:          "downed reason=r",
		membership.Forked{Own: "a", Other: "b"}: "forked own=a other=b",
		membership.SecondCluster{UID: 1, Addr: "a:1", Cluster: 2}: "there is a second cluster of this name: " +
			"stop the nodes of the one that was founded by mistake, and start them anew without their Dir cluster=" +
			view.ClusterID(2).String() + " member=" + view.UID(1).String() + " addr=a:1",
		membership.LeaseRegained{Epoch: 2}:                             "lease gained epoch=e2",
		membership.LeaseLost{Epoch: 2, Why: membership.LeaseSuspended}: "lease lost epoch=e2 why=suspended",
		membership.RefusedNode{UID: 1, Addr: "a:1", Text: "t"}: "node refused uid=1 addr=a:1 reason=" +
			bootstrap.Reason(0).String() + " text=t",
	} {
		known[reflect.TypeOf(in).Name()] = true
		if got := OfMembership(in).String(); got != want {
			t.Errorf("%T prints %q, want %q", in, got, want)
		}
	}
	for _, c := range []struct {
		in   membership.Event
		want Event
	}{
		{membership.MemberJoined{Member: m}, MemberJoined{m}}, {membership.MemberUp{Member: m}, MemberUp{m}},
		{membership.MemberLeaving{Member: m}, MemberLeaving{m}},
		{membership.MemberRemoved{Member: m}, MemberRemoved{m}},
		{membership.MemberUnreachable{Member: m}, MemberUnreachable{m}},
		{membership.MemberReachable{Member: m}, MemberReachable{m}},
	} {
		known[reflect.TypeOf(c.in).Name()] = true
		if got := OfMembership(c.in); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v becomes %v", c.in, got)
		}
	}
	if all := eventsOfTheMembership(t); !slices.Equal(slices.Sorted(maps.Keys(known)), all) {
		t.Errorf("the events of package membership are %v; here are %v", all, slices.Sorted(maps.Keys(known)))
	}
}

// eventsOfTheMembership lists the types that package membership makes events, from its source:
// those with a method event.
func eventsOfTheMembership(t *testing.T) (all []string) {
	files, err := filepath.Glob("../membership/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		src, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range src.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "event" &&
				f.Type.Params.NumFields() == 0 {
				if id, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
					all = append(all, id.Name)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// alien is an event of a layer above.
type alien struct{ Waiting }

// Events are counted by kind; those of this package are there with zero; what comes beyond the
// bound is counted as other.
func TestCounts(t *testing.T) {
	var c Counts
	for _, e := range kinds {
		c.Tell(e)
	}
	c.Tell(MemberUp{})
	c.Tell(&alien{})
	got := maps.Collect(c.All())
	for _, e := range kinds {
		want := uint64(1)
		if _, twice := e.(MemberUp); twice {
			want = 2
		}
		if name := reflect.TypeOf(e).Name(); got[name] != want {
			t.Errorf("%s is counted %d times, want %d", name, got[name], want)
		}
	}
	if got["alien"] != 1 || len(got) != len(kinds)+1 {
		t.Error(got)
	}
	if none := maps.Collect(new(Counts).All()); len(none) != len(kinds) || none["Forked"] != 0 {
		t.Error(none)
	}
	for i := range kindsMax {
		c.add(reflect.ArrayOf(i, reflect.TypeFor[int]()))
	}
	c.Tell(alien{})
	if got := maps.Collect(c.All()); got[otherKinds] != 1 || len(got) != kindsMax+1 {
		t.Errorf("%d kinds, %d others", len(got), got[otherKinds])
	}
}

// The table of events in design.md is complete.
func TestTableOfEvents(t *testing.T) {
	src, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(src), "## Events\n")
	_, table, _ = strings.Cut(table, "```text\n")
	table, _, _ = strings.Cut(table, "```")
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^([A-Z]\w+) `).FindAllStringSubmatch(table, -1) {
		listed = append(listed, m[1])
	}
	var want []string
	for _, e := range kinds {
		want = append(want, reflect.TypeOf(e).Name())
	}
	if !slices.Equal(listed, want) {
		t.Errorf("the page lists\n%v\nthe list\n%v", listed, want)
	}
}
