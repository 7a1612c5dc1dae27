package singletons

import (
	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/membership"
)

// Causes with which the context of Run ends, beside the error with which a node ends.
var (
	// ErrNoLease: the node has lost its lease.
	ErrNoLease = drivers.ErrNoLease
	// ErrLeft: the node leaves the cluster.
	ErrLeft = membership.ErrLeft
)
