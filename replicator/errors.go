package replicator

import "errors"

// Errors of operations, in Result.Err, matched with errors.Is. Errors of the package crdt
// (ErrTypeClash, ErrKey, ErrTooLarge, ErrPanic) and those of the caller's own function come through
// as they are, and mean that nothing happened.
var (
	ErrTimeout           = errors.New("replicator: timeout")                    // not reached in time; a *TimeoutError tells how far it came
	ErrNotEnoughReplicas = errors.New("replicator: not enough replicas")        // the view has fewer voters than the level asks for; nothing happened
	ErrStoreFailure      = errors.New("replicator: store failure")              // disks refused the write, see StoreError; it lives in memory and is tried again
	ErrLevel             = errors.New("replicator: no level of this operation") // it asks for less than one replica, or it is for reads only
	ErrLearner           = errors.New("replicator: not caught up yet")          // this node has just joined; try again when it has caught up
	ErrOverloaded        = errors.New("replicator: overloaded")                 // too many operations wait, or a peer is far behind; nothing happened
	ErrKeyMoving         = errors.New("replicator: key becomes durable")        // and some member has not done its part in time (View.Moving); nothing happened
	ErrCancelled         = errors.New("replicator: cancelled")                  // a Cancel; a write that was not held back has happened, and spreads
	ErrNoView            = errors.New("replicator: no view installed")          // this node is not a member yet, or no longer
)
