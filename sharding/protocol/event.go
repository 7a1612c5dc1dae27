package protocol

import (
	"fmt"
	"strings"
	"time"
)

// EventKind says what an Event is about.
type EventKind uint8

// RolloutMax is how long a coordinator lets a change by rolling restarts be unfinished before it tells of it:
// ChangingLeft, LeasesLacking. Another coordinator begins anew.
const RolloutMax = time.Hour

// Kinds of events. Those marked as alarms want a person's eye: package ddata/events/runbook has a page for
// each.
const (
	CoordinatorStarted EventKind = iota + 1 // this node's coordinator acts; Count shards have a home
	CoordinatorStopped                      // it does not act any more
	ShardMoved                              // a hand-off has ended: Shard lives on Peer now
	// alarm: Shard stays with Peer; Count regions had not answered Begin, or 0: the owner has not
	// stopped
	HandOffAborted
	DoubleHost            // alarm: Peer hosts Shard too; it is told to stop
	HostElsewhere         // alarm: this node hosts Shard and learns that Peer is its home: it stops the shard at once
	RememberedBeyondRange // Shard has remembered ids, but the type has fewer shards now: they are started in theirs
	StopForced            // alarm: Count entities of Shard did not stop in time and are stopped by force
	StopStuck             // alarm: Count handlers of Shard do not return, so the hand-off cannot end
	PassivationForced     // alarm: Entity did not stop in time and is stopped by force
	// alarm: the strategy named Peer, which is no region that may host, or Shard, which does not
	// exist
	StrategyRefused
	StrategyFailed // alarm: the strategy panicked with Text; the default answers for Shard
	StrategyStuck  // alarm: the strategy does not answer; the default does, for Count shards and until it has
	// alarm: Text says how the settings of Peer and of this node differ, so that they cannot run
	// the type together
	TypeMismatch
	// alarm: Shard does not start before it gets its lease; Text is what the store says; empty:
	// another holds it
	LeaseAwaited
	ShardLeaseLost          // alarm: Shard has lost its lease and was stopped at once, with Count entities
	CoordinatorLeaseAwaited // alarm: this node's coordinator does not act before it gets its lease; Text as above
	CoordinatorLeaseLost    // alarm: it has lost it and does not act any more
	// alarm: the store of Shard's remembered ids fails or is silent, as Text says; Count entities
	// wait for it
	RememberFailed
	RememberResumed // it works again
	ShardAtRest     // Shard was handed off without a new home
	// Peer has lost leases or cannot get them: for a while it is given no shards that another can
	// take
	RegionPassedOver
	// alarm: this node's coordinator waits until Count members, Peer the first, say what they host;
	// Text names all
	ReportAwaited
	// alarm: no coordinator acts, because the type was closed on Peer, which is in charge of it, and
	// could not be started there again
	CoordinatorAbsent
	// warning: this node's coordinator could not read or write a piece of its state, as Text says;
	// it tries again
	StateDelayed
	StateFailed  // alarm: it still cannot, for Took by now
	StateResumed // it can again, after Took
	HandlerSlow  // alarm: a handler of Entity in Shard runs since Took; Text: where
	// alarm: a handler of Entity in Shard has waited for a result for Took (Context.Await), and Count
	// of the region for as long as is told of; Text: for what, if the handler has said it
	ResultAwaited
	// alarm: a later coordinator has taken over the ledger, as Text says: this node's steps down
	CoordinatorDeposed
	// alarm: the store of Shard's reminders fails or is silent, or a later hosting of Shard has called it, as Text
	// says
	RemindersFailed
	RemindersResumed // it works again
	// alarm: the store holds a reminder in Shard that cannot be read, or one of Entity whose message cannot be
	// decoded here; Text: which, and why
	ReminderDamaged
	// alarm: a reminder of Entity is stored in Shard, which is not the shard of Entity; Text: which. Without Entity:
	// Count shards that the type has not, Shard the first, have reminders
	ReminderStranded
	// Count reminders were moved to the shards of their entities, because Shards or ShardOf has changed
	RemindersMoved
	// warning: Peer has other leases than this node's coordinator, or takes none, as Text says: until it is restarted
	// no lease guards the type
	LeasesDiffer
	// alarm: all members have one strategy for RolloutMax, and Count of them still let another be
	// (Allocation.Changing); Text: which. Told again after as long
	ChangingLeft
	// alarm: Count members take no leases of a store that they or others have named for RolloutMax, so that no lease
	// guards the type; Text: which. Told again after as long
	LeasesLacking
	EventEnd // none: the number of kinds, and of no kind
)

var eventNames = [EventEnd]string{
	"", "coordinator-started", "coordinator-stopped", "shard-moved", "hand-off-aborted",
	"double-host", "host-elsewhere",
	"remembered-beyond-range", "stop-forced", "stop-stuck", "passivation-forced", "strategy-refused",
	"strategy-failed", "strategy-stuck",
	"type-mismatch", "lease-awaited", "shard-lease-lost", "coordinator-lease-awaited", "coordinator-lease-lost",
	"remember-failed", "remember-resumed", "shard-at-rest", "region-passed-over", "report-awaited",
	"coordinator-absent",
	"state-delayed", "state-failed", "state-resumed", "handler-slow",
	"result-awaited", "coordinator-deposed",
	"reminders-failed", "reminders-resumed", "reminder-damaged", "reminder-stranded",
	"reminders-moved", "leases-differ", "changing-left", "leases-lacking",
}

func (k EventKind) String() string {
	if k == 0 || k >= EventEnd {
		return fmt.Sprintf("EventKind(%d)", uint8(k))
	}
	return eventNames[k]
}

// Event is something worth a log line or a metric. Which fields mean something depends on the kind.
type Event struct {
	Kind   EventKind
	Shard  ShardID
	Peer   UID
	Token  Token
	Entity EntityID
	Count  int
	// Took: ShardMoved: since it was without a home, or about to be; 0: that is not known.
	// StateFailed, StateResumed: since it failed. HandlerSlow, ResultAwaited:
	// the age.
	Took  time.Duration
	Text  string
	Stack string // HandlerSlow
}

// Warning reports whether the event belongs in a log as a warning: an alarm, what becomes one if it goes on, or what
// an operator has to end.
func (e Event) Warning() bool { return e.Alarm() || e.Kind == StateDelayed || e.Kind == LeasesDiffer }

// Resumed reports whether the event is the end of one that was a warning.
func (e Event) Resumed() bool {
	switch e.Kind {
	case RememberResumed, StateResumed, RemindersResumed:
		return true
	}
	return false
}

// Alarm reports whether the event wants a person's eye.
func (e Event) Alarm() bool {
	switch e.Kind {
	case HandOffAborted, DoubleHost, HostElsewhere, StopForced, StopStuck, PassivationForced, StrategyRefused,
		StrategyFailed, StrategyStuck,
		TypeMismatch, LeaseAwaited, ShardLeaseLost, CoordinatorLeaseAwaited, CoordinatorLeaseLost,
		RememberFailed, ReportAwaited,
		CoordinatorAbsent, StateFailed, HandlerSlow, ResultAwaited, CoordinatorDeposed,
		RemindersFailed, ReminderDamaged, ReminderStranded, ChangingLeft, LeasesLacking:
		return true
	}
	return false
}

func (e Event) String() string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	if e.Alarm() {
		b.WriteByte('!')
	}
	switch e.Kind {
	case CoordinatorStarted:
		fmt.Fprintf(&b, " %v shards=%d", e.Token, e.Count)
	case CoordinatorStopped, TypeMismatch, RegionPassedOver, CoordinatorLeaseAwaited, CoordinatorLeaseLost,
		ReportAwaited, CoordinatorAbsent,
		StateDelayed, StateFailed, StateResumed, CoordinatorDeposed, RemindersMoved,
		LeasesDiffer, ChangingLeft, LeasesLacking:
	default:
		fmt.Fprintf(&b, " %v", e.Shard)
	}
	if e.Peer != 0 {
		fmt.Fprintf(&b, " peer=%v", e.Peer)
	}
	if !e.Token.IsZero() && e.Kind != CoordinatorStarted {
		fmt.Fprintf(&b, " %v", e.Token)
	}
	if e.Entity != "" {
		fmt.Fprintf(&b, " %q", string(e.Entity))
	}
	if e.Count != 0 && e.Kind != CoordinatorStarted {
		fmt.Fprintf(&b, " count=%d", e.Count)
	}
	if e.Took != 0 {
		fmt.Fprintf(&b, " took=%v", e.Took)
	}
	if e.Text != "" {
		fmt.Fprintf(&b, " %q", e.Text)
	}
	return b.String()
}
