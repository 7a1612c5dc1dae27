package membership

// Defects are planted errors: each takes one rule away, and the tests show that they notice. Zero =
// none. AnyTiming is none: what it lets pass costs availability, and the rules hold.
type Defects struct {
	NoPromise        bool // R4 off: a proposal is accepted although a promise to a dropped member runs
	NoInstallPromise bool // R3 off: installing a view promises nothing
	NoFreeze         bool // R2 off: grants go on after a proposal was accepted
	LeaseFromReply   bool // the lease is counted from the answer, not from sending
	DeadMeansRemoved bool // a memberlist hint removes a member without any decision
	NoV1             bool // the own vote counts for the own lease without end
	NoV2             bool // a refusing acceptor goes on granting to those that it would drop
	StoppedHolds     bool // V3 off: a node that has said that it stopped keeps its lease
	StoppedProposes  bool // V3 off: and goes on proposing
	GoesUnseen       bool // V3 off: a node that has said that it stopped ends before it sees a view without itself
	GoesUntold       bool // a node that decides a view, or sees that all have stopped, ends before the others know
	LeaveUnsettled   bool // V4 off: a leaver is dropped before its replicators have settled
	UpUnasked        bool // V4 off: a joiner comes up before it has caught up
	NoV6             bool // a new view's heartbeats go out when the next are due
	AnyEpoch         bool // heartbeats of another epoch are granted, and such grants count
	NoArbiterRecord  bool // a new holder of the arbiter's lease ignores what the arbiter has decided and promised
	NoArbiterWait    bool // and does not wait for what was granted in the arbiter's name before
	OnlyLastDisks    bool // a cold start hears the disks of the last view and no others (V5)
	ToldUnstored     bool // V5 off: nothing waits until the record is on disk
	AnyTiming        bool // Validate lets any time-outs pass
	// keys that move are durable in the next view, whether its members have done their part or not
	MoveUnasked bool
}
