package view

import (
	"slices"
	"testing"
	"time"
)

// TestVotersOfAView: the oldest vote. Leaving members vote only where there are not as many others.
func TestVotersOfAView(t *testing.T) {
	const u, l, j = Up, Leaving, Joining // with a number, a Joining member is a founder that waits for MinMembers
	for _, c := range []struct {
		statuses []Status
		vote     []uint32
	}{
		{[]Status{u, u, u, u, u}, []uint32{1, 2, 3}},
		{[]Status{l, u, l, u, j, u}, []uint32{2, 4, 5}},
		{[]Status{l, u, l, u, l}, []uint32{1, 2, 4}},
		{[]Status{l, l, l, l, u}, []uint32{1, 2, 5}},
		{[]Status{l, l, l, l, l}, []uint32{1, 2, 3}},
		{[]Status{l, u, u}, []uint32{1, 2, 3}},
	} {
		v := &View{VotersMax: 3}
		for i, s := range c.statuses {
			v.Members = append(v.Members, Member{UID: UID(i + 1), Status: s, UpNumber: uint32(i + 1)})
		}
		var vote []uint32
		for _, m := range v.Voters() {
			vote = append(vote, m.UpNumber)
		}
		if !slices.Equal(vote, c.vote) {
			t.Errorf("%v: %v vote, want %v", v, vote, c.vote)
		}
		if in := Install(v, time.Time{}); in.Capped != (len(v.Full()) > 3) {
			t.Errorf("%v: some do not vote: %t", v, in.Capped)
		}
	}
}
