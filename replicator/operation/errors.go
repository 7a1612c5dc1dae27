package operation

import "errors"

// Errors of operations, in Result.Err, matched with errors.Is. Errors of the package crdt
// (ErrTypeClash, ErrKey, ErrTooLarge, ErrPanic) and those of the caller's own function come through
// as they are, and mean that nothing happened.
var (
	// not reached in time; a *TimeoutError tells how far it came
	ErrTimeout = errors.New("replicator: timeout")
	// the view has fewer voters than the level asks for; nothing happened
	ErrNotEnoughReplicas = errors.New("replicator: not enough replicas")
	// disks refused the write, see StoreError; it lives in memory and is tried again
	ErrStoreFailure = errors.New("replicator: store failure")
	// it asks for less than one replica, or it is for reads only
	ErrLevel = errors.New("replicator: no level of this operation")
	// this node has just joined; try again when it has caught up
	ErrLearner = errors.New("replicator: not caught up yet")
	// too many operations wait, or a peer is far behind; nothing happened
	ErrOverloaded = errors.New("replicator: overloaded")
	// and some member has not done its part in time (View.Moving); nothing happened
	ErrKeyMoving = errors.New("replicator: key becomes durable")
	// a Cancel; a write that was not held back has happened, and spreads
	ErrCancelled = errors.New("replicator: cancelled")
	ErrNoView    = errors.New("replicator: no view installed") // this node is not a member yet, or no longer
)
