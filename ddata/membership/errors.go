package membership

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// How a machine ends (Effects.Done).
var (
	// ErrDowned: the others decided a view without this node, or it had no lease for SelfDownAfter.
	// Usual causes: the node was cut off or paused for long, or most of the others are gone. It may
	// come back only as a new uid. The error is a *DownedError and says which of these it was.
	ErrDowned = errors.New("membership: downed")
	// ErrLeft: the node has left gracefully.
	ErrLeft = errors.New("membership: left the cluster")
	// ErrStalled: a founding or a joining did not come to an end within BootstrapTimeout. Usual
	// causes: a founder died halfway, the cluster stopped while this node was joining it, or it
	// went on without this node before it knew. Starting again under a new uid is safe. The error
	// is a *StalledError and says what was waited for.
	ErrStalled = errors.New("membership: bootstrap stalled, start again under a new uid")
	// ErrStore: what this node accepted or installed could not be stored. Usual causes: the disk is
	// full, or broken; the error wraps the disk's. Or the disk has not answered for so long that
	// too many views wait for it.
	ErrStore = errors.New("membership: the view could not be stored")
	// ErrRefused: the cluster does not accept this node; the error is a *RefusedError and says why.
	ErrRefused = errors.New("membership: refused by the cluster")
)

// DownedError is the error of a node that was downed: why, and what to do.
type DownedError struct {
	Cause      string
	ByOperator bool // an operator said so, by Down: the node is not meant to come back by itself
}

// Error says why the node is out, and what to do.
func (e *DownedError) Error() string {
	return fmt.Sprintf("%v: %s; start the node again, it comes back under a new uid", ErrDowned, e.Cause)
}

// Is reports whether target is ErrDowned.
func (e *DownedError) Is(target error) bool { return target == ErrDowned }

// StalledError is the error of a founding or a joining that did not come to an end.
type StalledError struct {
	Waiting string   // the nodes or the thing that it waited for
	Least   view.UID // the next incarnation must not have a lower uid (view.DrawUID); 0: any
}

// Error says what was waited for.
func (e *StalledError) Error() string { return fmt.Sprintf("%v: %s", ErrStalled, e.Waiting) }

// Is reports whether target is ErrStalled.
func (e *StalledError) Is(target error) bool { return target == ErrStalled }

// BrokeOff reports whether an incarnation that has ended before it was Up is tried again, under a new
// uid, why it ended, and which uids the new one may not have: lower ones. It has run nothing, so nothing
// is lost; the cluster only goes on without it, or was not founded.
func BrokeOff(err error) (why string, least view.UID, again bool) {
	if stalled, ok := errors.AsType[*StalledError](err); ok {
		return stalled.Waiting, stalled.Least, true
	}
	if downed, ok := errors.AsType[*DownedError](err); ok && !downed.ByOperator {
		return downed.Cause, 0, true
	}
	return "", 0, false
}

// CheckUID returns a *StalledError if a node on a disk with that record has to draw another uid: the views
// there may say that it is over, and the data of the disk that it has all its events. Bytes that are no
// record pass.
func CheckUID(encoded []byte, uid view.UID) error {
	r, err := record.Decode(encoded)
	if err != nil {
		return nil
	}
	return checkUID(r, uid)
}

// checkUID is CheckUID for a record that was decoded.
func checkUID(r record.Record, uid view.UID) error {
	if least := r.Least(); uid < least {
		return &StalledError{Least: least, Waiting: fmt.Sprintf("the directory knows that incarnations below %x have "+
			"ended; %v is one of them, and the node draws another uid", uint64(least), uid)}
	}
	return nil
}

// ErrForeign: the record is of a cluster of another name. Usual cause: the directory of another
// node. New returns it, and record.ErrUnreadable.
var ErrForeign = errors.New("membership: foreign record of the last view")

// RefusedError is the error of a node that the cluster refused.
type RefusedError struct {
	By     string // address of the member that refused
	Reason bootstrap.Reason
	Text   string
}

// Error names the node that refused and says why.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v: %s says: %s (%v)", ErrRefused, e.By, e.Text, e.Reason)
}

// Is reports whether target is ErrRefused.
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
