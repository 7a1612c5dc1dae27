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
	// ErrDowned: the others decided to go on without this node. It has stopped; start it anew.
	ErrDowned = membership.ErrDowned
	// ErrLeft: the node has left the cluster.
	ErrLeft = membership.ErrLeft
	// ErrRefused: the cluster does not accept this node; the error says why.
	ErrRefused = membership.ErrRefused
)
