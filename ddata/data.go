package ddata

import (
	"context"
	"strconv"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// ReadLevel says how many replicas a read asks. A majority is counted of the voters of the installed
// view; voters that do not answer count too.
type ReadLevel quorum.Level

// WriteLevel says how many replicas have a write before its caller hears of success. A majority is
// counted as for reads. A write that times out is not rolled back: the error says how far it got,
// and it goes on spreading.
type WriteLevel quorum.Level

// The levels of writes.
const (
	WriteLocal    = WriteLevel(quorum.Local)
	WriteMajority = WriteLevel(quorum.Majority)
	WriteAll      = WriteLevel(quorum.All)
)

// The levels of reads. A majority read sees every write that was acknowledged by a majority before
// it began.
//
// A linearizable read also sees all that any linearizable read of the key saw that ended before it
// began. Together with writes at WriteMajority or above, all operations of one key happen as if one
// after the other, each at one moment between its beginning and its end. A write that timed out may
// happen at any later moment, or never. It says nothing of several keys together, nor of what an
// update's function sees, which is this replica's state. It takes one round trip while the key does
// not change, whatever happens to other keys, and more while the key changes.
const (
	ReadLocal    = ReadLevel(quorum.Local)
	ReadMajority = ReadLevel(quorum.Majority)
	ReadAll      = ReadLevel(quorum.All)

	ReadLinearizable = ReadLevel(quorum.Linearizable)
)

// WriteTo asks for n replicas, this one included; with fewer members than that the write fails at
// once.
func WriteTo(n int) WriteLevel { return WriteLevel(quorum.To(n)) }

// WriteMajorityPlus asks for a majority and k more, for at least atLeast and at most all.
func WriteMajorityPlus(k, atLeast int) WriteLevel {
	return WriteLevel(quorum.MajorityPlus(k, atLeast))
}

// ReadFrom asks n replicas, this one included; with fewer members than that the read fails at once.
func ReadFrom(n int) ReadLevel { return ReadLevel(quorum.To(n)) }

// ReadMajorityPlus asks a majority and k more, at least atLeast and at most all.
func ReadMajorityPlus(k, atLeast int) ReadLevel { return ReadLevel(quorum.MajorityPlus(k, atLeast)) }

// String prints the level.
func (l ReadLevel) String() string { return quorum.Level(l).String() }

// String prints the level.
func (l WriteLevel) String() string { return quorum.Level(l).String() }

// Key names replicated data and says what type it has. The same name with another type is an error
// (crdt.ErrTypeClash) when it is used.
type Key[V any] struct{ name string }

// NewKey names data: 1 to 1024 bytes of UTF-8, checked when the key is used. It may be a package
// variable.
func NewKey[V crdt.Value[V, T], T any](name string) Key[V] { return Key[V]{name} }

// Name is the key's name.
func (k Key[V]) Name() string { return k.name }

// Get reads the value of a key; a key that holds nothing reads as the empty value. The value never
// changes. It takes its time limit from ctx, else from Config.RequestTimeout.
//
// Errors:
//   - operation.ErrTimeout, which is context.DeadlineExceeded too, whichever limit it was:
//     errors.As a *operation.TimeoutError says how far it came and which members are missing
//   - operation.ErrNotEnoughReplicas, ErrLevel (for fewer than one replica), ErrLearner,
//     ErrNoView, ErrOverloaded
//   - ErrNoLease at a level above local: enough answered, but the cluster may have gone on without
//     this node
//   - crdt.ErrKey; crdt.ErrTooLarge for a key that is too long; crdt.ErrTypeClash; crdt.ErrDeleted
//     after DeleteForever; crdt.ErrOverflow for a counter; crdt.ErrPanic when a Merge or View of a
//     type of yours has panicked
//   - how the node ended, such as ErrClosed, also at ReadLocal; ctx's error when it is over before
//     the call, or cancelled
func Get[V crdt.Value[V, T], T any](ctx context.Context, r *Replicator, key Key[V], level ReadLevel) (V, error) {
	var v V
	reader, err := r.Get(ctx, key.name, level)
	if err != nil {
		return v, err
	}
	v, err = crdt.ViewOf[V](reader)
	return v, r.wrap("get", key.name, quorum.Level(level), err)
}

// Update changes the value of a key: fn calls the mutators of what it is given. fn runs on the
// replica's own goroutine, so it must be quick, must not call the Replicator, and must not keep
// what it was given. When it returns an error, or panics, nothing happened. All it did becomes
// visible everywhere at once or not at all. For that it may make crdt.EventsMax changes (65,536) at
// most: a larger load takes several Updates.
//
// When ctx is cancelled, Update returns at once and nothing waits for its level any more. If fn has
// not run, it will not: the error says that nothing happened. Otherwise the write has happened, is
// not taken back and spreads on. The caller does not learn whether it had reached its level.
//
// At every level, WriteLocal too, the caller is held back while a member that answers is too far
// behind with what this node wrote (settings.Config.BacklogMax) and no majority keeps up. A member
// that does not answer, or is slower than a majority, holds up no caller: it falls behind, and
// fetches what it lacks.
//
// Errors: those of Get, but that with ErrNoLease the write has happened here.
// operation.ErrOverloaded when it was held back until its time was up, or too many wait: nothing
// happened. operation.ErrStoreFailure for a durable key that too many disks refuse: errors.As a
// *operation.StoreError says whose and why; the write still spreads. Of the mutators,
// crdt.ErrElement, ErrTooLarge (also for too many changes), ErrOverflow, ErrNested and ErrTxDone,
// and crdt.ErrPanic; fn's own. Those of crdt and fn's own mean that nothing happened.
func Update[V crdt.Value[V, T], T any](ctx context.Context, r *Replicator, key Key[V], level WriteLevel,
	fn func(T) error) error {
	return r.Update(ctx, key.name, level, crdt.Mutate[V](fn))
}

// Delete removes everything that this replica has seen under a key. What others write at the same
// time survives, and the key can be used again. When ctx is cancelled, nothing waits any more; the
// deletion may have happened, or may not. Errors: those of Update.
func Delete[V any](ctx context.Context, r *Replicator, key Key[V], level WriteLevel) error {
	return r.Delete(ctx, key.name, level)
}

// DeleteForever removes everything under a key for good: from then on it reads and updates as
// crdt.ErrDeleted, on every node, and what others write at the same time is hidden and goes. One
// item stays permanently. To delete a key again is no error, so that a call that timed out can be
// repeated.
func DeleteForever[V any](ctx context.Context, r *Replicator, key Key[V], level WriteLevel) error {
	return r.DeleteForever(ctx, key.name, level)
}

// clip quotes a key for an error, and shows when it leaves something out.
func clip(key string) string {
	const most = 64
	if len(key) <= most {
		return strconv.Quote(key)
	}
	return strconv.Quote(key[:most]) + "…"
}
