package events

import (
	"log/slog"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Events of the membership.
type (
	// ViewInstalled: the members have decided on a view, which counts here from now on.
	ViewInstalled struct{ View *view.View }
	// MemberJoined: a view lists a new member, which is Joining: it learns the data, and does not
	// vote yet.
	MemberJoined struct{ Member view.Member }
	// MemberUp: a member became Up.
	MemberUp struct{ Member view.Member }
	// MemberLeaving: a member is going, and hands over what it runs.
	MemberLeaving struct{ Member view.Member }
	// MemberRemoved: a member is no longer in the view.
	MemberRemoved struct{ Member view.Member }
	// MemberUnreachable: this node hears nothing of a member, which stays one.
	MemberUnreachable struct{ Member view.Member }
	// MemberReachable: this node hears the member again.
	MemberReachable struct{ Member view.Member }
	// OldestChanged: singletons of a role of this node have another place.
	OldestChanged struct {
		Role   string
		Member view.Member // with uid 0: there is no member that could be it
		Self   bool        // it is this node
	}
	// LeaseGained: this node may run entities and singletons.
	LeaseGained struct{ Epoch view.Epoch }
	// LeaseLost: this node may run nothing until LeaseGained.
	LeaseLost struct {
		Epoch view.Epoch
		Why   membership.LeaseLoss
	}
	// Waiting: why founding or joining does not go on; said when the reason changes.
	Waiting struct{ Reason string }
	// NodeRefused: this node, a member, refused one that wanted to join.
	NodeRefused struct{ membership.RefusedNode }
	// Downed: the others went on without this node, or it gave up; it ends.
	Downed struct{ Reason string }
	// ArbiterTaken: this node has got the lease of downing.LeaseMajority, and speaks for the
	// arbiter from now on.
	ArbiterTaken struct{ Epoch view.Epoch }
	// ArbiterGiven: this node speaks for the arbiter no longer.
	ArbiterGiven struct{ Reason string }
	// ArbiterFailing: the lease of downing.LeaseMajority cannot be used; said when the reason
	// changes.
	ArbiterFailing struct{ Reason string }
	// Forked: a view was heard of that contradicts the chain of this node's. It must never happen.
	Forked struct{ Own, Other string }
	// KeysMoving: data that was volatile begins to become durable, of the keys that View.Moving
	// names, because a node has come whose Config.DurableKeys names them. Updates of them wait
	// until KeysDurable.
	KeysMoving struct{ View *view.View }
	// KeysDurable: that has ended. View.Durable names all durable keys of the cluster.
	KeysDurable struct{ View *view.View }
	// KeysWaiting: KeysMoving lasts, because members cannot be reached, or their disks take
	// nothing; said once a minute by the oldest member. Missing names them.
	KeysWaiting struct {
		View    *view.View
		Missing string
	}
	// FormatRaised: all members speak a higher format level, and write it from now on. Builds that do
	// not speak it are refused (package format).
	FormatRaised struct {
		From format.Level
		View *view.View // the first of the new level
	}
	// RetirementBegan: the members find out whether they have the same of incarnations that are over, which
	// View.Ages.Ending names. Directories that are away until RetirementEnded may be refused then
	// (ddata.ErrOutdated).
	RetirementBegan struct{ View *view.View }
	// RetirementEnded: they have, and keep nothing of each of these any more. View.Ages.Ended names them.
	RetirementEnded struct{ View *view.View }
	// RetirementWaiting: a retirement lasts, because members cannot be reached or have not caught up; said
	// once a minute by the oldest member. Missing names them. Nothing is lost by it: replicas keep more
	// until it ends, or these members are removed.
	RetirementWaiting struct {
		View    *view.View
		Missing string
	}
	// SecondCluster: a node of another cluster has the same name and is in touch with this one: one
	// of the two was founded by mistake.
	SecondCluster struct{ membership.SecondCluster }
)

// OfMembership is the event for one of the membership machine.
func OfMembership(e membership.Event) Event {
	switch e := e.(type) {
	case membership.MemberJoined:
		return MemberJoined(e)
	case membership.MemberUp:
		return MemberUp(e)
	case membership.MemberLeaving:
		return MemberLeaving(e)
	case membership.MemberRemoved:
		return MemberRemoved(e)
	case membership.MemberUnreachable:
		return MemberUnreachable(e)
	case membership.MemberReachable:
		return MemberReachable(e)
	case membership.LeaseLost:
		return LeaseLost(e)
	case membership.LeaseRegained:
		return LeaseGained(e)
	case membership.Downed:
		return Downed(e)
	case membership.RefusedNode:
		return NodeRefused{e}
	case membership.Waiting:
		return Waiting(e)
	case membership.ArbiterTaken:
		return ArbiterTaken(e)
	case membership.ArbiterGiven:
		return ArbiterGiven(e)
	case membership.ArbiterFailing:
		return ArbiterFailing(e)
	case membership.Forked:
		return Forked(e)
	case membership.KeysMoving:
		return KeysMoving(e)
	case membership.KeysDurable:
		return KeysDurable(e)
	case membership.KeysWaiting:
		return KeysWaiting(e)
	case membership.FormatRaised:
		return FormatRaised(e)
	case membership.RetirementBegan:
		return RetirementBegan(e)
	case membership.RetirementEnded:
		return RetirementEnded(e)
	case membership.RetirementWaiting:
		return RetirementWaiting(e)
	case membership.SecondCluster:
		return SecondCluster{e}
	}
	panic("events: unknown event of the membership: " + e.String())
}

func memberLine(level slog.Level, message string, m view.Member) Line {
	return line(level, message, slog.String("member", m.String()))
}

// Line implements Event.
func (e ViewInstalled) Line() Line {
	return line(slog.LevelInfo, "view installed", slog.String("view", e.View.String()))
}

// Line implements Event.
func (e MemberJoined) Line() Line { return memberLine(slog.LevelInfo, "member joined", e.Member) }

// Line implements Event.
func (e MemberUp) Line() Line { return memberLine(slog.LevelInfo, "member up", e.Member) }

// Line implements Event.
func (e MemberLeaving) Line() Line { return memberLine(slog.LevelInfo, "member leaving", e.Member) }

// Line implements Event.
func (e MemberRemoved) Line() Line { return memberLine(slog.LevelInfo, "member removed", e.Member) }

// Line implements Event.
func (e MemberUnreachable) Line() Line {
	return memberLine(slog.LevelWarn, "member unreachable", e.Member)
}

// Line implements Event.
func (e MemberReachable) Line() Line { return memberLine(slog.LevelInfo, "member reachable", e.Member) }

// Line implements Event.
func (e OldestChanged) Line() Line {
	return line(slog.LevelInfo, "oldest changed",
		slog.String("role", e.Role), slog.String("member", e.Member.String()), slog.Bool("self", e.Self))
}

// Line implements Event.
func (e LeaseGained) Line() Line {
	return line(slog.LevelInfo, "lease gained", slog.String("epoch", e.Epoch.String()))
}

// Line implements Event.
func (e LeaseLost) Line() Line {
	level := warnIf(e.Why != membership.LeaseStopped, slog.LevelInfo)
	return line(level, "lease lost", slog.String("epoch", e.Epoch.String()), slog.String("why", e.Why.String()))
}

// Line implements Event.
func (e Waiting) Line() Line {
	return line(slog.LevelInfo, "waiting", slog.String("reason", e.Reason))
}

// Line implements Event.
func (e NodeRefused) Line() Line {
	return line(slog.LevelInfo, "node refused",
		slog.String("uid", e.UID.String()), slog.String("addr", e.Addr), slog.String("reason", e.Reason.String()),
		slog.String("text", e.Text))
}

// Line implements Event.
func (e Downed) Line() Line { return line(slog.LevelWarn, "downed", slog.String("reason", e.Reason)) }

// Line implements Event.
func (e ArbiterTaken) Line() Line {
	return line(slog.LevelInfo, "arbiter's lease taken", slog.String("epoch", e.Epoch.String()))
}

// Line implements Event.
func (e ArbiterGiven) Line() Line {
	return line(slog.LevelWarn, "arbiter's lease given up", slog.String("reason", e.Reason))
}

// Line implements Event.
func (e ArbiterFailing) Line() Line {
	return line(slog.LevelWarn, "arbiter's lease cannot be used", slog.String("reason", e.Reason))
}

// Line implements Event.
func (e Forked) Line() Line {
	return line(slog.LevelError, "forked", slog.String("own", e.Own), slog.String("other", e.Other))
}

// Line implements Event.
func (e KeysMoving) Line() Line {
	return line(slog.LevelInfo, "keys become durable", slog.Any("keys", view.Shown(e.View.Moving)))
}

// Line implements Event.
func (e KeysDurable) Line() Line {
	return line(slog.LevelInfo, "keys are durable", slog.Any("keys", view.Shown(e.View.Durable)))
}

// Line implements Event.
func (e KeysWaiting) Line() Line {
	return line(slog.LevelWarn, "updates of keys that become durable wait for members that have not done their part",
		slog.Any("keys", view.Shown(e.View.Moving)),
		slog.String("members", e.Missing))
}

// Line implements Event.
func (e FormatRaised) Line() Line {
	return line(slog.LevelInfo, "all members speak a higher format level, which is written from now on",
		slog.Uint64("from", uint64(e.From)), slog.Uint64("to", uint64(e.View.Format)))
}

// Line implements Event.
func (e RetirementBegan) Line() Line {
	return line(slog.LevelInfo, "incarnations that are over begin to retire",
		slog.String("view", e.View.Epoch.String()), slog.String("which", e.View.Ages.Ending.String()))
}

// Line implements Event.
func (e RetirementEnded) Line() Line {
	return line(slog.LevelInfo, "incarnations that are over have retired",
		slog.String("view", e.View.Epoch.String()), slog.String("which", e.View.Ages.Ended.String()))
}

// Line implements Event.
func (e RetirementWaiting) Line() Line {
	return line(slog.LevelInfo,
		"incarnations that are over cannot retire before members have said what they have of them",
		slog.String("view", e.View.Epoch.String()), slog.String("members", e.Missing))
}

// Line implements Event.
func (e SecondCluster) Line() Line {
	return line(slog.LevelError, "there is a second cluster of this name: stop the nodes of the one that was "+
		"founded by mistake, and start them anew without their Dir",
		slog.String("cluster", e.Cluster.String()), slog.String("member", e.UID.String()), slog.String("addr", e.Addr))
}
