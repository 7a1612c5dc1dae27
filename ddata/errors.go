package ddata

import (
	"errors"

	"github.com/coterie-go/coterie/ddata/membership"
)

// Errors of a node's life; match them with errors.Is.
var (
	// ErrClosed: the node was closed on this side.
	ErrClosed = errors.New("ddata: node is closed")
	// ErrUnknownRole: the node does not have the role. Usual cause: it is missing in Config.Roles.
	ErrUnknownRole = errors.New("ddata: this node does not have the role")
	// ErrNoLease: enough replicas answered, but this node holds no lease now, so the cluster may have gone on without it. A write was applied here and
	// spreads if the node comes back; a read may be stale. Usual causes: the node is cut off, or was paused. Try again.
	ErrNoLease = errors.New("ddata: this node holds no lease")
	// ErrDowned: the others decided to go on without this node, an operator downed it, or it had no lease for long because most of the others are
	// gone or cut off. The error says which. It has stopped; start it anew.
	ErrDowned = membership.ErrDowned
	// ErrLeft: the node has left the cluster.
	ErrLeft = membership.ErrLeft
	// ErrRefused: the cluster does not accept this node; the error says why.
	ErrRefused = membership.ErrRefused
)
