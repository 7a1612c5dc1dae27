package transport

import (
	"errors"
	"strconv"

	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// Errors at start.
var (
	// ErrAddrInUse says that something else listens at Config.Bind.
	ErrAddrInUse = errors.New("transport: address in use")
	// ErrBadAddr says that an address is not host:port.
	ErrBadAddr = address.ErrBad
)

// Errors of sending.
var (
	// ErrNoPeer says that the destination was not added, or was removed.
	ErrNoPeer = errors.New("transport: no such peer")
	// ErrSelf says that the destination is this node, which has no link to itself.
	ErrSelf = errors.New("transport: destination is this node")
	// ErrQueueFull says that the bound of the lane's queue is reached: the peer
	// is slower than the caller, or not reachable at present.
	ErrQueueFull = errors.New("transport: queue full")
	// ErrFrameTooLarge says that a payload is above the limit of its lane: Config.FrameMax, in the
	// Data lane Config.MessageMax.
	ErrFrameTooLarge = errors.New("transport: frame too large")
	// ErrBadLane says that a lane is not one of Control, Data, Bulk.
	ErrBadLane = errors.New("transport: no such lane")
	// ErrUnreceived says that Flush has ended before the peers had received everything.
	ErrUnreceived = errors.New("transport: not everything was received")
	// ErrClosed says that the transport was closed.
	ErrClosed = errors.New("transport: closed")
)

// Errors of connections, reported by LinkEvent.Err and counted.
var (
	// ErrProtocol says that the other side sent what no Coterie node sends.
	ErrProtocol = frame.ErrBroken
)

// Reason says why a connection was refused. It travels in the answer to a hello, so its
// numbers never change.
type Reason uint8

const (
	// RefusedCluster: the two nodes have different cluster names.
	RefusedCluster Reason = 1 + iota
	// RefusedVersion: the two nodes have no format level in common, or their handshakes differ.
	RefusedVersion
	// RefusedIncarnation: the address is held by another process incarnation than
	// the one that the dialler meant. That one is gone.
	RefusedIncarnation
	// RefusedSelf: the node dialled itself.
	RefusedSelf
	// RefusedGeneration: a connection of the same link with a higher generation is there.
	RefusedGeneration
	// RefusedLimit: the dialler's frame limit is above the receiver's.
	RefusedLimit
	// RefusedStream: the node takes no streams of this channel.
	RefusedStream
	// RefusedHello: the hello could not be understood.
	RefusedHello
	// RefusedTLS: one of the two has no certificate that the other accepts, or only one of them
	// uses TLS.
	RefusedTLS
	reasons
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case RefusedCluster:
		return "wrong cluster"
	case RefusedVersion:
		return "no common format level"
	case RefusedIncarnation:
		return "earlier incarnation"
	case RefusedSelf:
		return "own address"
	case RefusedGeneration:
		return "stale connection"
	case RefusedLimit:
		return "frame limit"
	case RefusedStream:
		return "no such stream"
	case RefusedHello:
		return "bad hello"
	case RefusedTLS:
		return "TLS"
	}
	return "reason " + strconv.Itoa(int(r))
}

// ErrRefused is the error of a connection whose hello was refused. Match it
// with errors.As.
type ErrRefused struct {
	// Reason is what a program decides by.
	Reason Reason
	// Text tells a human what did not match.
	Text string
}

// Error prints reason and text.
func (e ErrRefused) Error() string {
	if e.Text == "" {
		return "transport: connection refused: " + e.Reason.String()
	}
	return "transport: connection refused: " + e.Reason.String() + ": " + e.Text
}
