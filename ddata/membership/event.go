package membership

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Event is something that happened, for the log and for subscribers. Events never decide anything.
type Event interface {
	fmt.Stringer
	event()
}

type (
	// MemberJoined: a view lists a new member, still Joining.
	MemberJoined struct{ Member view.Member }
	// MemberUp: a member became Up.
	MemberUp struct{ Member view.Member }
	// MemberLeaving: a member is going; if it is this node, the driver now hands off and then steps
	// Stopped.
	MemberLeaving struct{ Member view.Member }
	// MemberRemoved: a member is no longer in the view.
	MemberRemoved struct{ Member view.Member }
	// MemberUnreachable: this node hears nothing of the member.
	MemberUnreachable struct{ Member view.Member }
	// MemberReachable: this node hears the member again.
	MemberReachable struct{ Member view.Member }
	// LeaseLost: this node must not run anything until LeaseRegained.
	LeaseLost struct {
		Epoch view.Epoch
		Why   LeaseLoss
	}
	// LeaseRegained: this node may run what it hosts (also said when it gets its first lease).
	LeaseRegained struct{ Epoch view.Epoch }
	// Downed: this node is out and ends.
	Downed struct{ Reason string }
	// RefusedNode: this node, a member, refused one that wanted to join.
	RefusedNode struct {
		UID    view.UID
		Addr   string
		Reason bootstrap.Reason
		Text   string
	}
	// Waiting: why founding or joining does not go on; said when the reason changes.
	Waiting struct{ Reason string }
	// ArbiterTaken: this node speaks for the arbiter from now on.
	ArbiterTaken struct{ Epoch view.Epoch }
	// ArbiterGiven: this node speaks for the arbiter no longer.
	ArbiterGiven struct{ Reason string }
	// ArbiterFailing: the arbiter's lease cannot be used; said when the reason changes. Meanwhile
	// no member can be removed unless it agrees.
	ArbiterFailing struct{ Reason string }
	// Forked: a view was heard of that contradicts the own chain. It must never happen.
	Forked struct{ Own, Other string }
	// KeysMoving: data that was volatile begins to become durable, of the keys that View.Moving
	// names. Updates of them wait until KeysDurable.
	KeysMoving struct{ View *view.View }
	// KeysDurable: that has ended. View.Durable names all durable keys.
	KeysDurable struct{ View *view.View }
	// KeysWaiting: KeysMoving lasts, because members have not done their part; said by the node
	// that leads, at most once a minute. Missing names them.
	KeysWaiting struct {
		View    *view.View
		Missing string
	}
	// FormatRaised: all members speak a higher format level, and write it from now on.
	FormatRaised struct {
		From format.Level
		View *view.View // the first of the new level
	}
	// RetirementBegan: the members find out whether they have the same of incarnations that are over, which
	// View.Ages.Ending names.
	RetirementBegan struct{ View *view.View }
	// RetirementEnded: they have, and keep nothing of each of these any more. View.Ages.Ended names them.
	RetirementEnded struct{ View *view.View }
	// RetirementWaiting: a retirement lasts, because members have not agreed; said by the node that leads,
	// at most once a minute. Missing names them.
	RetirementWaiting struct {
		View    *view.View
		Missing string
	}
	// SecondCluster: a node of another cluster has the same name and is in touch with this one.
	// Nothing merges them: one of them was founded by mistake, and its nodes have to be started
	// anew, without what it left on their disks. Said at most once a minute.
	SecondCluster struct {
		UID     view.UID
		Addr    string
		Cluster view.ClusterID
	}
)

// LeaseLoss says why a lease was lost.
type LeaseLoss uint8

// The ways to lose a lease.
const (
	LeaseExpired   LeaseLoss = iota // a quorum did not renew it in time
	LeaseSuspended                  // this process, or its machine, stood still; the grants of before count no more
	LeaseStopped                    // this node has said that it stopped, to leave
)

// String prints the reason.
func (l LeaseLoss) String() string {
	switch l {
	case LeaseExpired:
		return "expired"
	case LeaseSuspended:
		return "suspended"
	case LeaseStopped:
		return "stopped"
	}
	return fmt.Sprintf("LeaseLoss(%d)", uint8(l))
}

func (MemberJoined) event()      {}
func (MemberUp) event()          {}
func (MemberLeaving) event()     {}
func (MemberRemoved) event()     {}
func (MemberUnreachable) event() {}
func (MemberReachable) event()   {}
func (LeaseLost) event()         {}
func (LeaseRegained) event()     {}
func (Downed) event()            {}
func (RefusedNode) event()       {}
func (Waiting) event()           {}
func (ArbiterTaken) event()      {}
func (ArbiterGiven) event()      {}
func (ArbiterFailing) event()    {}
func (Forked) event()            {}
func (SecondCluster) event()     {}
func (KeysMoving) event()        {}
func (FormatRaised) event()      {}
func (KeysDurable) event()       {}
func (KeysWaiting) event()       {}
func (RetirementBegan) event()   {}
func (RetirementEnded) event()   {}
func (RetirementWaiting) event() {}

// String prints the event.
func (e MemberJoined) String() string { return fmt.Sprintf("joined %v", e.Member) }

// String prints the event.
func (e MemberUp) String() string { return fmt.Sprintf("up %v", e.Member) }

// String prints the event.
func (e MemberLeaving) String() string { return fmt.Sprintf("leaving %v", e.Member) }

// String prints the event.
func (e MemberRemoved) String() string { return fmt.Sprintf("removed %v", e.Member) }

// String prints the event.
func (e MemberUnreachable) String() string { return fmt.Sprintf("unreachable %v", e.Member) }

// String prints the event.
func (e MemberReachable) String() string { return fmt.Sprintf("reachable %v", e.Member) }

// String prints the event.
func (e LeaseLost) String() string { return fmt.Sprintf("lease lost in %v: %v", e.Epoch, e.Why) }

// String prints the event.
func (e LeaseRegained) String() string { return fmt.Sprintf("lease regained in %v", e.Epoch) }

// String prints the event.
func (e Downed) String() string { return "downed: " + e.Reason }

// String prints the event.
func (e RefusedNode) String() string {
	return fmt.Sprintf("refused %v@%s: %s (%v)", e.UID, e.Addr, e.Text, e.Reason)
}

// String prints the event.
func (e Waiting) String() string { return "waiting: " + e.Reason }

// String prints the event.
func (e ArbiterTaken) String() string { return fmt.Sprintf("arbiter taken in %v", e.Epoch) }

// String prints the event.
func (e ArbiterGiven) String() string { return "arbiter given: " + e.Reason }

// String prints the event.
func (e ArbiterFailing) String() string { return "arbiter failing: " + e.Reason }

// String prints the event.
func (e SecondCluster) String() string {
	return fmt.Sprintf("second cluster %v at %v@%s", e.Cluster, e.UID, e.Addr)
}

// String prints the event.
func (e KeysMoving) String() string { return fmt.Sprintf("keys moving %q", view.Shown(e.View.Moving)) }

// String prints the event.
func (e KeysWaiting) String() string {
	return fmt.Sprintf("keys moving %q, waits for %s", view.Shown(e.View.Moving), e.Missing)
}

// String prints the event.
func (e FormatRaised) String() string {
	return fmt.Sprintf("format level raised from %d to %d", e.From, e.View.Format)
}

// String prints the event.
func (e RetirementBegan) String() string { return fmt.Sprintf("retirement began%v", e.View.Ages) }

// String prints the event.
func (e RetirementEnded) String() string { return fmt.Sprintf("retirement ended%v", e.View.Ages) }

// String prints the event.
func (e RetirementWaiting) String() string {
	return fmt.Sprintf("retirement%v, waits for %s", e.View.Ages, e.Missing)
}

// String prints the event.
func (e KeysDurable) String() string {
	return fmt.Sprintf("keys durable %q", view.Shown(e.View.Durable))
}

// String prints the event.
func (e Forked) String() string { return fmt.Sprintf("forked: own %s, other %s", e.Own, e.Other) }

// changes returns what a view changes for the members, the formats, the keys and the incarnations that are over;
// old is nil before the first.
func changes(old, v *view.View) (es []Event) {
	if old != nil && old.Format < v.Format {
		es = append(es, FormatRaised{old.Format, v})
	}
	if old != nil && len(old.Durable) != len(v.Durable) {
		es = append(es, KeysDurable{v})
	}
	if len(v.Moving) > 0 && (old == nil || old.Moves != v.Moves) {
		es = append(es, KeysMoving{v})
	}
	if old != nil && old.Ages.Over() != v.Ages.Over() {
		es = append(es, RetirementEnded{v})
	}
	if v.Ages.Runs() && (old == nil || !old.Ages.Runs()) {
		es = append(es, RetirementBegan{v})
	}
	var members []view.Member
	if old != nil {
		members = old.Members
	}
	for was, is := range view.Beside(members, v.Members) {
		if is == nil {
			es = append(es, MemberRemoved{*was})
		}
	}
	for was, is := range view.Beside(members, v.Members) {
		if is != nil && (was == nil || was.Status != is.Status) {
			es = append(es, progress(was, *is)...)
		}
	}
	return es
}

// progress returns how far a member has come; was is nil for a new one.
func progress(was *view.Member, is view.Member) (es []Event) {
	var before view.Status
	if was != nil {
		before = was.Status
	}
	if before == 0 {
		es = append(es, MemberJoined{is})
	}
	if before < view.Up && is.Status >= view.Up {
		es = append(es, MemberUp{is})
	}
	if before < view.Leaving && is.Status == view.Leaving {
		es = append(es, MemberLeaving{is})
	}
	return es
}
