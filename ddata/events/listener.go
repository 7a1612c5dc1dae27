package events

import (
	"context"
	"log/slog"
)

// Listener hears of what happens on a node: a struct of optional callbacks, one for each kind of
// event, and one for all. See the table in the package comment for when each is called.
//
// Callbacks are called by the goroutine that saw the event, so those of one source come in order:
// the membership (view, members, lease, oldest, waiting, downed, dropped frames), each Singleton,
// discovery, each Replicator, each link, the listener's port, the store, and the end of the node;
// those of gossip come from several. They may come at the same time from different sources. They
// must be quick, for their source waits: a callback of the membership that takes as long as a lease
// costs the lease, and one of a Replicator holds up its callers. Only NodeEnded and ShutdownPhase
// may block, which delays the end. They may ask the node for its View, Members, Lease and Health,
// and must not wait for the node in another way. A panic of a callback is logged, and the callbacks
// behind it are not called for that event.
type Listener struct {
	// Any gets every event, before its own callback does, and those of the layers above this one,
	// which have no callback here.
	Any func(Event)

	ViewInstalled     func(ViewInstalled)
	MemberJoined      func(MemberJoined)
	MemberUp          func(MemberUp)
	MemberLeaving     func(MemberLeaving)
	MemberRemoved     func(MemberRemoved)
	MemberUnreachable func(MemberUnreachable)
	MemberReachable   func(MemberReachable)
	OldestChanged     func(OldestChanged)
	LeaseGained       func(LeaseGained)
	LeaseLost         func(LeaseLost)
	Waiting           func(Waiting)
	NodeRefused       func(NodeRefused)
	Downed            func(Downed)
	ArbiterTaken      func(ArbiterTaken)
	ArbiterGiven      func(ArbiterGiven)
	ArbiterFailing    func(ArbiterFailing)
	Forked            func(Forked)
	SecondCluster     func(SecondCluster)
	KeysMoving        func(KeysMoving)
	KeysDurable       func(KeysDurable)
	KeysWaiting       func(KeysWaiting)

	SingletonChanged  func(SingletonChanged)
	SingletonFailed   func(SingletonFailed)
	SingletonOutlived func(SingletonOutlived)

	Discovered func(Discovered)
	Gossiped   func(Gossiped)

	LinkUp            func(LinkUp)
	LinkDown          func(LinkDown)
	ConnectionRefused func(ConnectionRefused)
	ConnectionFault   func(ConnectionFault)
	FramesDropped     func(FramesDropped)
	MessageUnsent     func(MessageUnsent)
	MessageMalformed  func(MessageMalformed)

	CaughtUp      func(CaughtUp)
	MajorityLost  func(MajorityLost)
	RepairBegan   func(RepairBegan)
	RepairEnded   func(RepairEnded)
	WritersHeld   func(WritersHeld)
	KeyLarge      func(KeyLarge)
	Diverged      func(Diverged)
	PeerMalformed func(PeerMalformed)

	StoreFailed    func(StoreFailed)
	StoreGrown     func(StoreGrown)
	StoreCompacted func(StoreCompacted)
	StoreUnmarked  func(StoreUnmarked)
	UnnamedKeys    func(UnnamedKeys)
	StaleRole      func(StaleRole)

	ShutdownPhase    func(ShutdownPhase)
	MachineBroken    func(MachineBroken)
	UserCodePanicked func(UserCodePanicked)
	NodeEnded        func(NodeEnded)
}

// Tell calls the callbacks of an event.
func (l *Listener) Tell(e Event) {
	call(l.Any, e)
	if !l.tellMembership(e) && !l.tellTransport(e) && !l.tellOthers(e) {
		l.tellData(e)
	}
}

func call[E Event](fn func(E), e E) {
	if fn != nil {
		fn(e)
	}
}

func (l *Listener) tellMembership(e Event) bool {
	switch e := e.(type) {
	case ViewInstalled:
		call(l.ViewInstalled, e)
	case MemberJoined:
		call(l.MemberJoined, e)
	case MemberUp:
		call(l.MemberUp, e)
	case MemberLeaving:
		call(l.MemberLeaving, e)
	case MemberRemoved:
		call(l.MemberRemoved, e)
	case MemberUnreachable:
		call(l.MemberUnreachable, e)
	case MemberReachable:
		call(l.MemberReachable, e)
	case OldestChanged:
		call(l.OldestChanged, e)
	case LeaseGained:
		call(l.LeaseGained, e)
	case LeaseLost:
		call(l.LeaseLost, e)
	case Waiting:
		call(l.Waiting, e)
	case NodeRefused:
		call(l.NodeRefused, e)
	case Downed:
		call(l.Downed, e)
	case ArbiterTaken:
		call(l.ArbiterTaken, e)
	case ArbiterGiven:
		call(l.ArbiterGiven, e)
	case ArbiterFailing:
		call(l.ArbiterFailing, e)
	case Forked:
		call(l.Forked, e)
	case KeysMoving:
		call(l.KeysMoving, e)
	case KeysDurable:
		call(l.KeysDurable, e)
	case KeysWaiting:
		call(l.KeysWaiting, e)
	case SecondCluster:
		call(l.SecondCluster, e)
	default:
		return false
	}
	return true
}

func (l *Listener) tellOthers(e Event) bool {
	switch e := e.(type) {
	case SingletonChanged:
		call(l.SingletonChanged, e)
	case SingletonFailed:
		call(l.SingletonFailed, e)
	case SingletonOutlived:
		call(l.SingletonOutlived, e)
	case Discovered:
		call(l.Discovered, e)
	case Gossiped:
		call(l.Gossiped, e)
	default:
		return false
	}
	return true
}

func (l *Listener) tellTransport(e Event) bool {
	switch e := e.(type) {
	case LinkUp:
		call(l.LinkUp, e)
	case LinkDown:
		call(l.LinkDown, e)
	case ConnectionRefused:
		call(l.ConnectionRefused, e)
	case ConnectionFault:
		call(l.ConnectionFault, e)
	case FramesDropped:
		call(l.FramesDropped, e)
	case MessageUnsent:
		call(l.MessageUnsent, e)
	case MessageMalformed:
		call(l.MessageMalformed, e)
	default:
		return false
	}
	return true
}

func (l *Listener) tellData(e Event) {
	switch e := e.(type) {
	case CaughtUp:
		call(l.CaughtUp, e)
	case MajorityLost:
		call(l.MajorityLost, e)
	case RepairBegan:
		call(l.RepairBegan, e)
	case RepairEnded:
		call(l.RepairEnded, e)
	case WritersHeld:
		call(l.WritersHeld, e)
	case KeyLarge:
		call(l.KeyLarge, e)
	case Diverged:
		call(l.Diverged, e)
	case PeerMalformed:
		call(l.PeerMalformed, e)
	case StoreFailed:
		call(l.StoreFailed, e)
	case StoreGrown:
		call(l.StoreGrown, e)
	case StoreCompacted:
		call(l.StoreCompacted, e)
	case StoreUnmarked:
		call(l.StoreUnmarked, e)
	case UnnamedKeys:
		call(l.UnnamedKeys, e)
	case StaleRole:
		call(l.StaleRole, e)
	default:
		l.tellEnd(e)
	}
}

func (l *Listener) tellEnd(e Event) {
	switch e := e.(type) {
	case ShutdownPhase:
		call(l.ShutdownPhase, e)
	case MachineBroken:
		call(l.MachineBroken, e)
	case UserCodePanicked:
		call(l.UserCodePanicked, e)
	case NodeEnded:
		call(l.NodeEnded, e)
	}
}

// Log returns a listener that writes every event to a logger, one line each.
func Log(log *slog.Logger) Listener {
	return Listener{Any: func(e Event) {
		ctx := context.Background()
		l := e.Line()
		if log.Enabled(ctx, l.Level) {
			log.LogAttrs(ctx, l.Level, l.Message, l.Attrs...)
		}
	}}
}
