package ddata

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
)

// undialed is the last attempt to connect that failed.
type undialed struct {
	at   time.Time
	text string
}

// undialedFresh is how long a failed attempt is of interest. One that goes on failing is made again
// sooner.
const undialedFresh = 10 * time.Second

// waiting says what the node waits for, for errors.
func (m *members) waiting() string {
	reason := "the first probes are on their way"
	if v := m.n.View(); v.Epoch > 0 {
		reason = m.n.notUp(v)
	} else {
		if s := m.reason.Load(); s != nil {
			reason = *s
		}
		if u := m.n.undialed.Load(); u != nil && time.Since(u.at) < undialedFresh {
			reason += "; " + u.text
		}
		if m.n.before != "" {
			reason += "; " + m.n.before
		}
	}
	if s := m.n.refusal.Load(); s != nil {
		reason += "; " + *s
	}
	return reason
}

// notUp says what a member lacks to be Up, with its data and its lease; if that is nothing, its
// view.
func (n *Node) notUp(v *membership.View) string {
	var lacks []string
	if me, _ := v.Member(n.uid); me.Status == membership.Joining && !v.Open() {
		lacks = n.tooFew(v)
	}
	for _, role := range n.cfg.Roles {
		if !n.caughtUp(role) {
			lacks = append(lacks, fmt.Sprintf("the data of role %q is not here yet, which takes a majority of its %d members", role, full(v, role)))
		}
	}
	if !n.HoldsLease() {
		lacks = append(lacks, "it holds no lease")
	}
	if len(lacks) == 0 {
		return fmt.Sprintf("the node is a member in view %v", v)
	}
	return fmt.Sprintf("the node is a member, and %s; view %v", strings.Join(lacks, "; "), v)
}

// tooFew says which gates of the first Up are not reached, with the numbers.
func (n *Node) tooFew(v *membership.View) (lacks []string) {
	if have, need := len(v.Members), n.cfg.MinMembers; have < need {
		lacks = append(lacks, fmt.Sprintf("%d of %d members are there (MinMembers)", have, need))
	}
	for _, role := range slices.Sorted(maps.Keys(n.cfg.MinMembersPerRole)) {
		switch have, need := len(v.ByRole(role)), n.cfg.MinMembersPerRole[role]; {
		case have == 0 && need > 0:
			lacks = append(lacks, fmt.Sprintf("no member has the role %q, of which %d are needed (MinMembersPerRole): check its spelling in Roles", role, need))
		case have < need:
			lacks = append(lacks, fmt.Sprintf("%d of %d members of role %q are there (MinMembersPerRole)", have, need, role))
		}
	}
	return lacks
}

// full counts the members of the role whose replicas count.
func full(v *membership.View, role string) (count int) {
	for _, m := range v.ByRole(role) {
		if m.Full() {
			count++
		}
	}
	return count
}
