package defect

// Defect is an error that can be planted.
type Defect uint8

// Defects of a store of items. The rules are those of package crdt.
const (
	// DropLosingSibling breaks R1: apply drops the lesser of two concurrent puts at one path.
	DropLosingSibling Defect = iota
	// BareFactWithoutRemover breaks R2: superseded puts are shipped without payload and remover.
	BareFactWithoutRemover
	// LoadUnverified breaks R3: rows are taken as they are, whatever their commit said.
	LoadUnverified
	// ClockBeforeItems breaks R4: a merge joins the clocks first and so inserts nothing.
	ClockBeforeItems
	// MergeAlone breaks R4: what is written while a merge in steps is under way is lost at its end.
	MergeAlone
	// UnionDrops breaks R5: a union drops what the other side lacks.
	UnionDrops
	// ShowRemoved breaks R8: items of removed nodes are shown until they are swept.
	ShowRemoved
	// WeakSketch breaks nothing: sketches mix up dots, so that repairs find out and take another
	// way.
	WeakSketch
	endOfStore
)

// Defects of a replicator. The rules are those of package replicator.
const (
	// AckBeforeCommit breaks R7: the content clock answers where the durable one must.
	AckBeforeCommit = endOfStore + iota
	// FailureIsSuccess breaks R3: a batch that failed counts as committed.
	FailureIsSuccess
	// NeverRetry breaks R3: a batch that failed is not tried again.
	NeverRetry
	// JoinWithoutCatchUp breaks R11: a learner serves, acks and says that it has caught up at once.
	JoinWithoutCatchUp
	// CountAnyEpoch breaks R15: acks of peers in other views count.
	CountAnyEpoch
	// ReadWithoutCatchUp: a quorum read replies when enough have answered, not when their clocks
	// are contained.
	ReadWithoutCatchUp
	// ReadWithoutAgreement: a linearizable read is answered as one at Majority.
	ReadWithoutAgreement
	// TrustSketch breaks R5: a repair is taken though it does not add up to the donor's digest.
	TrustSketch
	// TidyInOldView breaks R8: the oldest tidies in its view although it has heard of a newer one.
	TidyInOldView
	// ExpireUnasked: a key expires without a look at what a majority has of it.
	ExpireUnasked
	// FoldUnasked breaks R6: what removed members counted is folded before all have said what they
	// have of it.
	FoldUnasked
	// FoldUnwitnessed breaks R6: each replica that becomes the oldest voter folds in the durable space, also what
	// another one may have folded.
	FoldUnwitnessed
	// MoveUnasked: a replica moves what it has of the keys that become durable, whatever the others
	// have.
	MoveUnasked
	// MoveElsewhere: a replica takes no part in a move of which no key is of its data.
	MoveElsewhere
	// MoveUnfrozen: updates of keys that are being moved are made at once, in the volatile space.
	MoveUnfrozen
	// RetireUnasked breaks R16: a replica says that it has all there is of origins that are over,
	// whatever the others have.
	RetireUnasked
	// TrustsOutdated: a node goes on although its replicator says that the disk is outdated (R16).
	TrustsOutdated
	endOfReplicator
)

// Defects of the membership. The rules are those of package membership.
const (
	// NoPromise, G4 off: a proposal is accepted although a promise to a dropped member runs.
	NoPromise = endOfReplicator + iota
	// NoInstallPromise, G3 off: installing a view promises nothing.
	NoInstallPromise
	// NoFreeze, G2 off: grants go on after a proposal was accepted.
	NoFreeze
	// LeaseFromReply: a grant counts from when it came, not from when the heartbeat was sent.
	LeaseFromReply
	// DeadMeansRemoved: a memberlist hint removes a member without any decision.
	DeadMeansRemoved
	// NoV1: the own vote counts for the own lease without end.
	NoV1
	// NoV2: a refusing acceptor goes on granting to those that it would drop.
	NoV2
	// StoppedHolds, V3 off: a node that has said that it stopped keeps its lease.
	StoppedHolds
	// StoppedProposes, V3 off: a node that has said that it stopped goes on proposing.
	StoppedProposes
	// GoesUnseen, V3 off: a node that has said that it stopped ends before it sees a view without
	// itself.
	GoesUnseen
	// GoesUntold: a node that decides a view, or sees that all have stopped, ends before the others
	// know. What it granted never counts as free.
	GoesUntold
	// LeaveUnsettled, V4 off: a leaver is dropped before its replicators have settled.
	LeaveUnsettled
	// UpUnasked, V7 off: a joiner comes up before it has caught up.
	UpUnasked
	// NoV6: a new view's heartbeats go out when the next are due.
	NoV6
	// AnyEpoch: heartbeats of another epoch are granted, and such grants count.
	AnyEpoch
	// NoArbiterRecord: a new holder of the arbiter's lease ignores what the arbiter has decided and
	// promised.
	NoArbiterRecord
	// NoArbiterWait: a new holder of the arbiter's lease does not wait for what was granted in the
	// arbiter's name before.
	NoArbiterWait
	// OnlyLastDisks: a cold start hears the disks of the last view and no others (V5).
	OnlyLastDisks
	// FoundsUnended: founders wait for no lease once a quorum of the disks is there, as if all members
	// had ended (V5).
	FoundsUnended
	// EndIsExpiry, G4 off: no promise runs to a member whose connection has ended and whose machine
	// refuses another.
	EndIsExpiry
	// ToldUnstored, V5 off: nothing waits until the record is on disk.
	ToldUnstored
	// AnyTiming: Validate lets any time-outs pass.
	AnyTiming
	// DurableUnmoved: keys that move are durable in the next view, whether its members have done
	// their part or not.
	DurableUnmoved
	// OldestFirst: a member that offers a service later comes before younger ones, and takes over from
	// the member in charge.
	OldestFirst
	// FormatUnasked: the format level rises when one member speaks more, not when all do.
	FormatUnasked
	// RetiresUnagreed: a retirement of incarnations ends in the view after that which begins it, whatever the
	// members have said.
	RetiresUnagreed
	// FoundsUnclean: disks that have missed a retirement take part in a founding anew.
	FoundsUnclean
	// DoneTooEarly: a singleton that is asked to hand over says that it is done while it still
	// stops.
	DoneTooEarly
	endOfMembership
)

// Defects of the machines and the data plane of sharding.
const (
	// NoFence: an owner stops a shard without waiting for the fences of the regions.
	NoFence = endOfMembership + iota
	// NoTokenCheck: a region obeys commands of deposed coordinators.
	NoTokenCheck
	// KeepLostLease: a shard goes on after it has lost its lease.
	KeepLostLease
	// NoRememberWait: a shard reports Stopped while a write of its remembered ids is under way.
	NoRememberWait
	// FlushBackwards: what waits in a buffer is sent from its end.
	FlushBackwards
	// LostWake: an entity that shall run is forgotten now and then.
	LostWake
	// DropsUncounted: a drop is told to no hook and not counted.
	DropsUncounted
	// KeepsAll: no entity is passivated for the sake of a limit.
	KeepsAll
	// Unwoken: what waits for an entity that was passivated does not wake it.
	Unwoken
	// ReplyTwice: a question is answered twice.
	ReplyTwice
	// NeverIdle: no entity is passivated because it is idle.
	NeverIdle
	// SoonIdle: an entity is idle as soon as it was looked at once.
	SoonIdle
	// NeverRests: a shard that was stopped for good gets a home at once.
	NeverRests
	// KeepsPassivated: an entity that was passivated on request stays among those remembered.
	KeepsPassivated
	// WakesPassivated: an entity that was forgotten is started again.
	WakesPassivated
	// LanesClosed: what the lanes bring to a shard that drains waits for its next home.
	LanesClosed
	// Unpromised: a region that starts forgets what its node has promised for the type.
	Unpromised
	// PutBackLast: what the mailboxes of a closed shard held goes behind what waits for its next home.
	PutBackLast
	// ReturnedLast: what a lane gives back goes behind what waits for its shard's next home.
	ReturnedLast
	// HandlesMeanwhile: messages are handled while an earlier one waits for its result.
	HandlesMeanwhile
	// TellsUnwritten: a coordinator tells of homes before they are written.
	TellsUnwritten
	// EndsUnhandled: a reminder is taken off when it is handed out.
	EndsUnhandled
	// ForgetsEnd: a reminder that was taken off is forgotten while an older read may bring it again.
	ForgetsEnd
	// FiresEarly: a reminder is handed out before it is due.
	FiresEarly
	// EndsNewer: the end of a reminder's turn takes off another one of its name.
	EndsNewer
	// RemindsAnew: a shard whose stop is taken back begins anew with its reminders.
	RemindsAnew
	// RemindsUnmoved: entities use reminders while these are being moved.
	RemindsUnmoved
	// RefusesAnnounced: a node that takes no leases is refused by a coordinator that has other stores of them.
	RefusesAnnounced
	// MixesShards: regions with another number of shards than their coordinator's are not refused.
	MixesShards
	endOfSharding
)

// Defects of entities that keep their state.
const (
	// ReplyBeforeCommit: what comes after a write happens before it.
	ReplyBeforeCommit = endOfSharding + iota
	// SnapshotAhead: a snapshot has events that are not stored yet.
	SnapshotAhead
	// WriteUnasked: an entity whose write has failed goes on as if it had not.
	WriteUnasked
	end
)

var _ [128 - end]struct{} // a Set has room for all

// Set is the defects that are planted. The zero value has none.
type Set struct{ bits [2]uint64 }

// Of returns the set of some defects.
func Of(ds ...Defect) Set {
	var s Set
	for _, d := range ds {
		s.bits[d/64] |= 1 << (d % 64)
	}
	return s
}

// Plant adds defects.
func (s *Set) Plant(more Set) {
	for i := range s.bits {
		s.bits[i] |= more.bits[i]
	}
}

// Defects returns the set itself: it is how one configuration gives another what it has.
func (s Set) Defects() Set { return s }

// Planted reports whether the machine has a defect.
func (s Set) Planted(d Defect) bool { return s.bits[d/64]>>(d%64)&1 != 0 }
