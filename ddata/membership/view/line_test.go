package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"pgregory.net/rapid"
)

// TestLines plays views in which members come, offer services and go. A member in charge stays so until it
// is gone; one that offers a service is in its line, if that has room; and the lines of a view that was
// handed out stay as they are.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		services := []Service{{Name: "a"}, {Name: "b"}, {Role: "r", Name: "a"}}
		offers := map[UID][]Service{}
		v := &View{Format: format.Initial, Cluster: 1, Epoch: 1}
		for epoch := range rapid.IntRange(1, 12).Draw(t, "views") {
			next := v.Next(Hash{})
			for _, m := range v.Members {
				if rapid.IntRange(0, 3).Draw(t, "goes") > 0 {
					m.Status = max(m.Status, rapid.SampledFrom([]Status{Joining, Up, Leaving}).Draw(t, "status"))
					next.Members = append(next.Members, m)
				}
			}
			for range rapid.IntRange(1, 4).Draw(t, "come") {
				next.LastUp++
				m := Member{UID: UID(next.LastUp), Addr: fmt.Sprint(next.LastUp), UpNumber: next.LastUp}
				m.Formats = format.Build()
				m.Status, m.Roles = Joining, rapid.SampledFrom([][]string{nil, {"r"}}).Draw(t, "roles")
				next.Members = append(next.Members, m)
			}
			for _, m := range next.Members {
				for _, s := range services {
					if !slices.Contains(offers[m.UID], s) && rapid.IntRange(0, 2).Draw(t, "offers") == 0 {
						offers[m.UID] = append(offers[m.UID], s)
					}
				}
			}
			text := v.String()
			changed := next.Enlist(func(u UID) []Service { return offers[u] })
			if now := v.String(); now != text {
				t.Fatalf("the parent was %s, is %s", text, now)
			}
			if err := next.Check(); err != nil {
				t.Fatalf("epoch %d: %v: %v", epoch, next, err)
			}
			entered := false
			for _, s := range services {
				was, had := v.InCharge(s)
				now, _ := next.InCharge(s)
				if had && next.Has(was.UID) && now.UID != was.UID {
					t.Fatalf("%v was in charge of %v, in %v it is %v", was, s, next, now)
				}
				old := v.Lines.of(s)
				line := next.Lines.of(s)
				able := 0
				for _, m := range next.Members {
					if m.Status != Joining && m.HasRole(s.Role) && slices.Contains(offers[m.UID], s) {
						able++
					}
				}
				if len(line) != min(able, LineMax) {
					t.Fatalf("%d offer %v, %v", able, s, next)
				}
				for _, u := range line {
					entered = entered || !slices.Contains(old, u)
				}
			}
			if changed != entered {
				t.Fatalf("members entered: %t, it says %t", entered, changed)
			}
			v = next
		}
	})
}

// TestTheOldestComesFirst: of members that offer a service at one time.
func TestTheOldestComesFirst(t *testing.T) {
	v := &View{Members: []Member{
		{UID: 1, Status: Up, UpNumber: 3}, {UID: 2, Status: Joining}, {UID: 3, Status: Leaving, UpNumber: 1},
		{UID: 4, Status: Up, UpNumber: 2},
	}}
	s := Service{Name: "s"}
	v.Enlist(func(UID) []Service { return []Service{s} })
	if l := v.Lines.of(s); !slices.Equal(l, []UID{3, 4, 1}) {
		t.Error(v)
	}
}

// TestNoRoomForAService: what has no room is refused with words, and takes nothing from the others.
func TestNoRoomForAService(t *testing.T) {
	v := &View{
		Format: format.Initial, Cluster: 1, Epoch: 1, LastUp: 1,
		Members: []Member{{UID: 1, Addr: "a", Status: Up, UpNumber: 1, Formats: format.Build()}},
	}
	var all []Service
	for i := range LinesMax + 1 {
		all = append(all, Service{Name: fmt.Sprintf("%04d", i)})
	}
	v.Enlist(func(UID) []Service { return all })
	if err := v.Check(); err != nil || len(v.Lines) != LinesMax {
		t.Errorf("%d lines: %v", len(v.Lines), err)
	}
	if why := v.Lines.Refuses(all[LinesMax]); !strings.Contains(why, "no room") || v.Lines.Refuses(all[0]) != "" {
		t.Errorf("it says %q, and %q", why, v.Lines.Refuses(all[0]))
	}
	if _, ok := v.InCharge(all[LinesMax]); ok || !v.Lines.Settles(all[LinesMax], 1) {
		t.Error("it is offered again and again")
	}
	v.Lines = nil
	for i := range all {
		all[i].Name = strings.Repeat("n", ServiceNameMax-4) + all[i].Name
	}
	v.Enlist(func(UID) []Service { return all })
	if err := v.Check(); err != nil || len(v.Lines) == 0 || len(v.Lines) == LinesMax {
		t.Errorf("%d lines with long names: %v", len(v.Lines), err)
	}
}
