package transport

import (
	"context"
	"net"
)

// Mesh is a node's Transport: its listener, its links and its readers.
type Mesh struct {
	cfg  Config
	addr string
	n    counters
}

var _ Transport = (*Mesh)(nil)

// Listen opens the listener and returns the running transport. ctx bounds the opening only.
func Listen(ctx context.Context, cfg Config) (*Mesh, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return nil, ErrClosed
}

func (m *Mesh) Self() NodeID                 { return m.cfg.Self }
func (m *Mesh) Addr() string                 { return m.addr }
func (m *Mesh) Handle(ch Channel, h Handler) {}
func (m *Mesh) Stats() Stats                 { return m.n.snapshot() }
func (m *Mesh) Close() error                 { return nil }
func (m *Mesh) Send(to NodeID, lane Lane, stripe uint32, ch Channel, payload []byte) error {
	return ErrClosed
}
func (m *Mesh) SendAddr(addr string, ch Channel, payload []byte) error              { return ErrClosed }
func (m *Mesh) SendPacket(to NodeID, addr string, ch Channel, payload []byte) error { return ErrClosed }
func (m *Mesh) Append(to NodeID, lane Lane, stripe uint32, ch Channel, fill func(dst []byte) []byte, check func() error) error {
	return ErrClosed
}
func (m *Mesh) AppendWait(ctx context.Context, to NodeID, lane Lane, stripe uint32, ch Channel, fill func(dst []byte) []byte, check func() error) error {
	return ErrClosed
}
func (m *Mesh) SetPeers(peers map[NodeID]string)                        {}
func (m *Mesh) AddPeer(id NodeID, addr string) error                    { return ErrClosed }
func (m *Mesh) RemovePeer(id NodeID)                                    {}
func (m *Mesh) Connected(id NodeID, lane Lane, stripe uint32) LinkState { return LinkState{} }
func (m *Mesh) PeerAddr(id NodeID) (string, bool)                       { return "", false }
func (m *Mesh) DialStream(ctx context.Context, addr string, ch Channel) (net.Conn, error) {
	return nil, ErrClosed
}
func (m *Mesh) HandleStream(ch Channel, accept func(from NodeID, conn net.Conn)) {}
