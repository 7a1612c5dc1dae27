package ddata

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Errors of a node's life; match them with errors.Is.
var (
	// ErrClosed: the node was closed on this side.
	ErrClosed = errors.New("ddata: node is closed")
	// ErrUnknownRole: the node does not have the role. Usual cause: it is missing in Config.Roles.
	ErrUnknownRole = host.ErrUnknownRole
	// ErrNoLease: enough replicas answered, but this node holds no lease now, so the cluster may
	// have gone on without it. A write was applied here and spreads if the node comes back; a read
	// may be stale. Usual causes: the node is cut off, or was paused. Try again.
	ErrNoLease = drivers.ErrNoLease
	// ErrDowned: the others decided to go on without this node, an operator downed it, or it had no
	// lease for long because most of the others are gone or cut off. The error says which. It has
	// stopped; start it anew.
	ErrDowned = membership.ErrDowned
	// ErrLeft: the node has left the cluster.
	ErrLeft = membership.ErrLeft
	// ErrStore: the node could not store the view in Config.Dir, and has ended. Usual causes: the
	// disk is full, or broken; the error wraps the disk's. Or it has not answered while 256 views
	// were decided.
	ErrStore = membership.ErrStore
	// ErrBroken: a machine of the node broke one of its own rules, or a callback on its goroutine
	// panicked. The node has ended without its lease; the event MachineBroken, and the log, have
	// the state and the stack. It is a defect: report it.
	ErrBroken = errors.New("ddata: a machine of this node is broken")
	// ErrOutdated: Config.Dir missed a retirement (package membership/retiring), and may hold what the others
	// have dropped. Usual causes: the node was down for long, or the directory is a copy. The node has ended,
	// and merged nothing. Started with an empty directory it fetches everything from its peers.
	ErrOutdated = errors.New("ddata: this directory was away while its incarnations were retired: start from an " +
		"empty one")
	// ErrRefused: the cluster does not accept this node; the error says why.
	ErrRefused = membership.ErrRefused
)

// timeoutError is a operation.TimeoutError with the names that the logs give to members.
type timeoutError struct {
	*operation.TimeoutError
	text string
}

// Error implements error.
func (e *timeoutError) Error() string { return e.text }

// Unwrap lets a caller that knows only contexts find the error that it looks for.
func (e *timeoutError) Unwrap() []error { return []error{e.TimeoutError, context.DeadlineExceeded} }

// storeError is a operation.StoreError with the names that the logs give to members.
type storeError struct {
	*operation.StoreError
	text string
}

// Error implements error.
func (e *storeError) Error() string { return e.text }

// Unwrap lets errors.As find what it names.
func (e *storeError) Unwrap() error { return e.StoreError }

// wrap says what was tried of which key.
func (r *Replicator) wrap(op, key string, level quorum.Level, err error) error {
	if err == nil {
		return nil
	}
	var late *operation.TimeoutError
	if errors.As(err, &late) {
		err = &timeoutError{late, late.Describe(nameIn(r.n.View()))}
	}
	var refused *operation.StoreError
	if errors.As(err, &refused) {
		err = &storeError{refused, refused.Describe(nameIn(r.n.View()))}
	}
	return fmt.Errorf("%s %s %v: %w", op, clip(key), level, err)
}

// nameIn names members as the logs do, with their addresses where the view has them.
func nameIn(v *view.View) func(crdt.Origin) string {
	return func(o crdt.Origin) string {
		uid := view.UID(o)
		if m, ok := v.Member(uid); ok {
			return fmt.Sprintf("%v@%s", uid, m.Addr)
		}
		return uid.String()
	}
}
