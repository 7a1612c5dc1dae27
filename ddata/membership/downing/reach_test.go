package downing

import (
	"maps"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// TestReach follows one member that is watched and one that is not through silence, a hint, and a
// word.
func TestReach(t *testing.T) {
	const beat, after = time.Second, 8 * time.Second
	start := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	members := []view.Member{{UID: 1}, {UID: 2}, {UID: 3}} // 1 is this node
	r := NewReach(after, beat)
	r.Follow(start, 1, &view.View{Members: members}, func(o view.Member) bool { return o.UID == 2 })
	look := func(d time.Duration, want ...view.UID) {
		t.Helper()
		changes, again := r.Look(at(d), members)
		if len(changes) != len(want) {
			t.Fatalf("at %v: %v, want %v", d, changes, want)
		}
		for i, c := range changes {
			if c.Member.UID != want[i] || c.Reachable != r.Hears(want[i]) {
				t.Errorf("at %v: %v, want %v", d, c, want[i])
			}
		}
		if !again.After(at(d)) {
			t.Errorf("at %v: again at %v", d, again.Sub(start))
		}
	}
	look(after - 1)
	look(after, 2)
	if since := r.UnreachableSince(2); !since.Equal(at(after)) || !r.Doubts(2) || r.Doubts(3) || r.Hears(1) {
		t.Errorf("unreachable since %v", since)
	}
	if !r.Heard(2, at(9*time.Second)) || r.Heard(2, at(9*time.Second)) && r.Hears(2) {
		t.Error("the end of a silence is not told")
	}
	look(9*time.Second, 2)
	r.Suspect(3, at(10*time.Second)) // its silence counts from here on, and half of it is enough
	look(14*time.Second - 1)
	look(14*time.Second, 3)
	r.Follow(at(15*time.Second), 1, &view.View{Members: members[:2]}, func(view.Member) bool { return true })
	if r.Hears(3) || !r.LastHeard(2).Equal(at(9*time.Second)) {
		t.Error("what was known of a member that stays is lost, or one that went is heard")
	}
}

// TestAWordLiftsASuspicion: a member that was suspected and heard since is allowed a whole silence.
func TestAWordLiftsASuspicion(t *testing.T) {
	start, members := time.Unix(1000, 0), []view.Member{{UID: 2}}
	r := NewReach(8*time.Second, time.Second)
	r.Follow(start, 0, &view.View{Members: members}, func(view.Member) bool { return true })
	if r.Suspect(2, start); !r.Doubts(2) {
		t.Error("a hint raises no doubt")
	}
	heard := start.Add(time.Second)
	if r.Heard(2, heard); r.Doubts(2) {
		t.Error("a word leaves the doubt")
	}
	if changes, _ := r.Look(heard.Add(8*time.Second-1), members); len(changes) > 0 {
		t.Error("unreachable before its whole silence is over:", changes)
	}
	if changes, _ := r.Look(heard.Add(8*time.Second), members); len(changes) != 1 {
		t.Error("reachable after its whole silence:", changes)
	}
}

// TestARefusedConnectionIsAnEnd: a member to which there was a connection, and whose machine refuses
// another, is unreachable at once. A message or a connection takes that back. After a message a
// refusal means something only after a silence, until there is a connection again.
func TestARefusedConnectionIsAnEnd(t *testing.T) {
	const beat, after = time.Second, 8 * time.Second
	start, members := time.Unix(1000, 0), []view.Member{{UID: 1}, {UID: 2}, {UID: 3}}
	at := func(d time.Duration) time.Time { return start.Add(d) }
	r := NewReach(after, beat)
	r.Follow(start, 1, &view.View{Members: members}, func(o view.Member) bool { return o.UID == 2 })
	hears := func(d time.Duration, u view.UID, want bool) {
		t.Helper()
		r.Look(at(d), members)
		if r.Hears(u) != want || r.RefusedSince(u).IsZero() != want {
			t.Errorf("at %v: heard %t, refused since %v", d, r.Hears(u), r.RefusedSince(u))
		}
		if err := r.Check(1, &view.View{Members: members}); err != nil {
			t.Errorf("at %v: %v", d, err)
		}
	}
	r.Refuse(2, start)
	hears(0, 2, true) // there never was a connection
	r.Connect(2)
	r.Connect(3)
	r.Connect(9)
	r.Refuse(9, start)
	r.Refuse(2, at(time.Second))
	r.Refuse(2, at(2*time.Second))
	hears(2*time.Second, 2, false)
	if ended := r.Ended(members); len(ended) != 1 || ended[0] != 2 || !r.RefusedSince(2).Equal(at(time.Second)) {
		t.Errorf("ended: %v, since %v", ended, r.RefusedSince(2))
	}
	r.Refuse(3, at(2*time.Second)) // its silence means nothing, but this does
	hears(2*time.Second, 3, false)
	r.Follow(at(2*time.Second), 1, &view.View{Members: members}, func(view.Member) bool { return true })
	hears(2*time.Second, 2, false)
	if !r.Heard(2, at(3*time.Second)) {
		t.Error("the word of a living one is not told")
	}
	hears(3*time.Second, 2, true)
	r.Refuse(2, at(3*time.Second+2*beat-1))
	hears(3*time.Second+2*beat-1, 2, true)
	r.Refuse(2, at(3*time.Second+2*beat))
	hears(3*time.Second+2*beat, 2, false)
	r.Heard(2, at(6*time.Second))
	r.Connect(2)
	r.Refuse(2, at(6*time.Second))
	hears(6*time.Second, 2, false)
	r.Connect(2)
	if r.Look(at(6*time.Second+1), members); !r.RefusedSince(2).IsZero() {
		t.Error("a connection does not take the refusal back")
	}
	r.Refuse(3, at(7*time.Second))
	hears(7*time.Second, 3, false)
	members = members[:2]
	r.Follow(at(7*time.Second), 1, &view.View{Members: members}, func(view.Member) bool { return true })
	hears(7*time.Second, 2, true)
	if ended := r.Ended(members); ended != nil {
		t.Error("the one that refused has gone, and ended are", ended)
	}
	for what, spoil := range map[string]func(){
		"one that refuses is not counted": func() { r.refusing-- },
		"one in doubt is not counted":     func() { r.doubted-- },
		"one that has gone is known":      func() { r.contacts[3] = &contact{} },
	} {
		was := *r
		r.contacts = maps.Clone(r.contacts)
		if spoil(); r.Check(1, &view.View{Members: members}) == nil {
			t.Error(what, "and it passes")
		}
		*r = was
	}
}
