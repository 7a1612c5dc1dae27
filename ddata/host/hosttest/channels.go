package hosttest

import (
	"context"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
)

// NoChannels is a network without peers: what is sent is transport.ErrNoPeer.
type NoChannels struct{}

var _ host.Channels = NoChannels{}

// Claim implements host.Channels.
func (NoChannels) Claim(transport.Channel) []byte { return nil }

// Handle implements host.Channels.
func (NoChannels) Handle(transport.Channel, transport.Handler) {}

// Append implements host.Channels.
func (NoChannels) Append(transport.NodeID, transport.Lane, uint32, transport.Channel,
	func([]byte) []byte, func() error) error {
	return transport.ErrNoPeer
}

// AppendWait implements host.Channels.
func (NoChannels) AppendWait(context.Context, transport.NodeID, transport.Lane, uint32, transport.Channel,
	func([]byte) []byte, func() error) error {
	return transport.ErrNoPeer
}

// CountDrop implements host.Channels.
func (NoChannels) CountDrop(transport.Drop, int) {}

// OnLink implements host.Channels.
func (NoChannels) OnLink(func(transport.LinkEvent)) (cancel func()) { return func() {} }
