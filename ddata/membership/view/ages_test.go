package view

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
)

// membersOf are those of uids, all Up.
func membersOf(uids ...UID) (ms []Member) {
	for _, u := range slices.Sorted(slices.Values(uids)) {
		ms = append(ms, Member{UID: u, Status: Up, UpNumber: uint32(len(ms)) + 1})
	}
	return ms
}

// A retirement names what came before, never a member, and always more than the one before.
func TestBeginOfARetirement(t *testing.T) {
	old, young := DrawUID(noon.Add(-100*UIDUnit), 0, 1), DrawUID(noon, 0, 2)
	gone := DrawUID(noon.Add(-2*UIDUnit), 0, 3)
	first, ok := (*Ages)(nil).Begin(noon, membersOf(old, young), 4)
	if x := first.Ending; !ok || x.Names(old) || x.Names(young) || !x.Names(gone) || !x.Names(1) || x.Moves != 4 {
		t.Fatalf("%v: %+v", ok, first)
	}
	if first.Refuses(gone) == "" || first.Refuses(old) != "" || first.Refuses(first.Least()) != "" {
		t.Errorf("refuses %q", first.Refuses(old))
	}
	ended := first.End(7).Counting(3)
	if ended.Agreed() != 7 || !ended.Ending.Empty() || ended.Came != 3 || ended.Refuses(gone) == "" {
		t.Errorf("%+v", ended)
	}
	next, ok := ended.Begin(noon.Add(-50*UIDUnit), membersOf(young), 4) // by a clock that is behind
	if !ok || next.Ending.Below <= ended.Ended.Below || !next.Ending.Names(old) || next.Ending.Names(young) ||
		next.Came != 0 || next.Ended.Below != ended.Ended.Below {
		t.Errorf("%v: %+v", ok, next)
	}
	last := Ages{Began: uidLast}
	if a, ok := last.Begin(noon, membersOf(young), 0); ok {
		t.Errorf("%v after the last", a)
	}
}

// Not more are spared than a view has room for.
func TestMembersThatAreSpared(t *testing.T) {
	var uids []UID
	for i := range SparedMax + 100 {
		uids = append(uids, DrawUID(noon.Add(time.Duration(i-2*SparedMax)*UIDUnit), 0, 5))
	}
	a, ok := (*Ages)(nil).Begin(noon, membersOf(uids...), 0)
	if x := a.Ending; !ok || len(x.Spared) != SparedMax || x.Names(uids[0]) || !x.Names(uids[0]-1) {
		t.Fatalf("%v: %v", ok, a)
	}
	if a, ok := a.End(1).Begin(noon, membersOf(uids...), 0); ok {
		t.Errorf("a second one names no more: %v", a)
	}
}

// agedView is a view in which incarnations have ended, and others end.
func agedView() *View {
	ms := membersOf(1<<50, uidLast)
	for i := range ms {
		ms[i].Addr, ms[i].Formats = string(rune('a'+i))+":1", format.Range{Min: 1, Max: format.Ages}
	}
	return &View{
		Format: format.Ages, Cluster: 1, Epoch: 9, Members: ms, LastUp: 2, Moves: 3,
		Ages: &Ages{
			Came: 5, AgreedIn: 4, Ended: Retirement{Below: 1 << 51, Spared: []UID{7, 1 << 50}, Moves: 2},
			Ending: Retirement{Below: uidLast, Spared: []UID{1 << 50}, Moves: 3}, Began: uidLast,
		},
	}
}

func TestCheckOfAges(t *testing.T) {
	if err := agedView().Check(); err != nil {
		t.Fatal(err)
	}
	if err := agedView().Ages.Carried().Check(); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(v *View, a *Ages){
		"a member has ended":       func(v *View, a *Ages) { a.Ended.Spared = []UID{7} },
		"a member ends":            func(v *View, a *Ages) { a.Ending.Spared = nil },
		"a later move":             func(v *View, a *Ages) { a.Ending.Moves = 4 },
		"no bound":                 func(v *View, a *Ages) { a.Ending.Below = 0 },
		"spared above the bound":   func(v *View, a *Ages) { a.Ended.Spared = []UID{1 << 50, 1 << 52} },
		"disorder":                 func(v *View, a *Ages) { a.Ended.Spared = []UID{1 << 50, 7} },
		"none was begun":           func(v *View, a *Ages) { a.Began-- },
		"agreed in no epoch":       func(v *View, a *Ages) { a.AgreedIn = 0 },
		"agreed in this one":       func(v *View, a *Ages) { a.AgreedIn = 9 },
		"ends what has ended":      func(v *View, a *Ages) { a.Ending.Below = 1 << 51 },
		"of a level before":        func(v *View, a *Ages) { v.Format = format.Ages - 1 },
		"too many that are spared": func(v *View, a *Ages) { a.Ended.Spared = make([]UID, SparedMax+1) },
	} {
		v := agedView()
		if change(v, v.Ages); v.Check() == nil {
			t.Errorf("%s, and it passes", what)
		}
	}
}

// A view has the form of its level, and no other is taken.
func TestFormsOfAView(t *testing.T) {
	now, before := agedView(), agedView()
	before.Format, before.Ages = format.Ages-1, nil
	for _, v := range []*View{now, before} {
		var got View
		b := v.Append(nil)
		if err := cbor.Records.Decode(b, &got); err != nil || got.Hash() != v.Hash() || got.String() != v.String() {
			t.Errorf("%v is read as %v: %v", v, &got, err)
		}
		if fields := map[bool]int{true: 17, false: 16}[v == now]; b[0] != arrayOf(fields) {
			t.Errorf("level %d: head %x", v.Format, b[0])
		}
	}
	b := before.Append(nil)
	b[1] = byte(format.Ages)
	if err := cbor.Records.Decode(b, new(View)); err == nil {
		t.Error("the form of a level before is taken")
	}
	b = now.Append(nil)
	b[1] = byte(format.Ages - 1)
	if err := cbor.Records.Decode(b, new(View)); err == nil {
		t.Error("the form of a later level is taken")
	}
	if s := now.Ages.String(); s != " ending below ffffff but 1 ended below 800 but 2 since e4" {
		t.Error(s)
	}
}
