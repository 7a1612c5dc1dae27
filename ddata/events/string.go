package events

// String implements Event.
func (e ViewInstalled) String() string { return e.Line().String() }

// String implements Event.
func (e MemberJoined) String() string { return e.Line().String() }

// String implements Event.
func (e MemberUp) String() string { return e.Line().String() }

// String implements Event.
func (e MemberLeaving) String() string { return e.Line().String() }

// String implements Event.
func (e MemberRemoved) String() string { return e.Line().String() }

// String implements Event.
func (e MemberUnreachable) String() string { return e.Line().String() }

// String implements Event.
func (e MemberReachable) String() string { return e.Line().String() }

// String implements Event.
func (e OldestChanged) String() string { return e.Line().String() }

// String implements Event.
func (e LeaseGained) String() string { return e.Line().String() }

// String implements Event.
func (e LeaseLost) String() string { return e.Line().String() }

// String implements Event.
func (e Waiting) String() string { return e.Line().String() }

// String implements Event.
func (e NodeRefused) String() string { return e.Line().String() }

// String implements Event.
func (e Downed) String() string { return e.Line().String() }

// String implements Event.
func (e ArbiterTaken) String() string { return e.Line().String() }

// String implements Event.
func (e ArbiterGiven) String() string { return e.Line().String() }

// String implements Event.
func (e ArbiterFailing) String() string { return e.Line().String() }

// String implements Event.
func (e Forked) String() string { return e.Line().String() }

// String implements Event.
func (e KeysMoving) String() string { return e.Line().String() }

// String implements Event.
func (e KeysWaiting) String() string { return e.Line().String() }

// String implements Event.
func (e KeysDurable) String() string { return e.Line().String() }

// String implements Event.
func (e FormatRaised) String() string { return e.Line().String() }

// String implements Event.
func (e RetirementBegan) String() string { return e.Line().String() }

// String implements Event.
func (e RetirementEnded) String() string { return e.Line().String() }

// String implements Event.
func (e RetirementWaiting) String() string { return e.Line().String() }

// String prints the event.
func (e SecondCluster) String() string { return e.Line().String() }

// String implements Event.
func (e SingletonChanged) String() string { return e.Line().String() }

// String implements Event.
func (e SingletonFailed) String() string { return e.Line().String() }

// String implements Event.
func (e SingletonOutlived) String() string { return e.Line().String() }

// String implements Event.
func (e Discovered) String() string { return e.Line().String() }

// String implements Event.
func (e Gossiped) String() string { return e.Line().String() }

// String implements Event.
func (e LinkUp) String() string { return e.Line().String() }

// String implements Event.
func (e LinkDown) String() string { return e.Line().String() }

// String implements Event.
func (e ConnectionRefused) String() string { return e.Line().String() }

// String implements Event.
func (e ConnectionFault) String() string { return e.Line().String() }

// String implements Event.
func (e FramesDropped) String() string { return e.Line().String() }

// String implements Event.
func (e MessageUnsent) String() string { return e.Line().String() }

// String implements Event.
func (e MessageMalformed) String() string { return e.Line().String() }

// String implements Event.
func (e CaughtUp) String() string { return e.Line().String() }

// String implements Event.
func (e MajorityLost) String() string { return e.Line().String() }

// String implements Event.
func (e RepairBegan) String() string { return e.Line().String() }

// String implements Event.
func (e RepairEnded) String() string { return e.Line().String() }

// String implements Event.
func (e WritersHeld) String() string { return e.Line().String() }

// String implements Event.
func (e KeyLarge) String() string { return e.Line().String() }

// String implements Event.
func (e Diverged) String() string { return e.Line().String() }

// String implements Event.
func (e PeerMalformed) String() string { return e.Line().String() }

// String implements Event.
func (e StoreFailed) String() string { return e.Line().String() }

// String implements Event.
func (e StoreGrown) String() string { return e.Line().String() }

// String implements Event.
func (e StoreCompacted) String() string { return e.Line().String() }

// String implements Event.
func (e StoreUnmarked) String() string { return e.Line().String() }

// String implements Event.
func (e UnnamedKeys) String() string { return e.Line().String() }

// String implements Event.
func (e StaleRole) String() string { return e.Line().String() }

// String implements Event.
func (e ShutdownPhase) String() string { return e.Line().String() }

// String implements Event.
func (e MachineBroken) String() string { return e.Line().String() }

// String implements Event.
func (e UserCodePanicked) String() string { return e.Line().String() }

// String implements Event.
func (e NodeEnded) String() string { return e.Line().String() }
