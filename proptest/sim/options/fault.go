package options

// Fault is one kind of harm that chaos does to the world.
type Fault uint8

// The faults.
const (
	Split Fault = iota
	Isolate
	IsolateOldest
	OneWay
	Partial
	Mend
	Crash
	CrashOldest
	CrashAll
	Freeze
	FreezeOldest
	Suspend
	Leave
	Join
	OperatorDown
	DiskStall
	ConnectionReset
	WallJump
	Flap
	DiskFull
	DiskUnread
	DiskTable
	DiskLies
	DiskTears
	DiskRecord
	WakeJump
	HaltInStep
	FaultKinds
)

var faultNames = [FaultKinds]string{"split", "isolate", "isolate-oldest", "one-way", "partial", "mend", "crash",
	"crash-oldest", "crash-all", "freeze",
	"freeze-oldest", "suspend", "leave", "join", "operator-down", "disk-stall", "reset",
	"wall-jump", "flap", "disk-full", "disk-unread", "disk-table", "disk-lies", "disk-tears",
	"disk-record", "wake-jump", "halt-in-step"}

func (f Fault) String() string { return faultNames[f] }
