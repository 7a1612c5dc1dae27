package events

// kinds are the events of this package, in the order of the table in design.md. The
// layers above have more.
var kinds = []Event{
	ViewInstalled{}, MemberJoined{}, MemberUp{}, MemberLeaving{}, MemberRemoved{},
	MemberUnreachable{}, MemberReachable{}, OldestChanged{}, LeaseGained{}, LeaseLost{}, Waiting{},
	NodeRefused{}, Downed{}, ArbiterTaken{}, ArbiterGiven{}, ArbiterFailing{}, Forked{},
	SecondCluster{}, KeysMoving{}, KeysDurable{}, KeysWaiting{}, FormatRaised{},
	RetirementBegan{}, RetirementEnded{}, RetirementWaiting{},
	SingletonChanged{}, SingletonFailed{}, SingletonOutlived{},
	Discovered{}, Gossiped{},
	LinkUp{}, LinkDown{}, ConnectionRefused{}, ConnectionFault{}, FramesDropped{}, MessageUnsent{},
	MessageMalformed{},
	CaughtUp{}, MajorityLost{}, RepairBegan{}, RepairEnded{}, WritersHeld{}, KeyLarge{}, Diverged{},
	PeerMalformed{},
	StoreFailed{}, StoreGrown{}, StoreCompacted{}, StoreUnmarked{}, UnnamedKeys{}, StaleRole{},
	ShutdownPhase{}, MachineBroken{}, UserCodePanicked{}, NodeEnded{},
}
