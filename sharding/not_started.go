package sharding

import (
	"fmt"
	"sync"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A node answers for the types that it has not started, see protocol.NotStarted. Before the first
// Start of a type the node does so itself, and knows nothing of sharding: what is asked of a type
// is a host.Question. Afterwards the type's absence answers, while no machine of the type does.

// absence is a type on a node on which it was started once. It answers other nodes' machines while
// no machine of the type runs there.
type absence struct {
	host    host.Host
	channel transport.Channel
	name    string

	mu      sync.Mutex
	who     protocol.NotStarted
	started bool
}

var _ transport.Handler = (*absence)(nil)

// absence returns that of a type. The first call claims the type's channel. It refuses a type whose
// channel another has on this node: frames of one would be taken for frames of the other.
func (t *nodeTypes) absence(name string) (*absence, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := dataplane.ChannelOf(name)
	a := t.absences[ch]
	if a == nil {
		a = &absence{host: t.host, channel: ch, name: name}
		a.who.Predecessor.Floor = dataplane.FloorOf(t.host.Channels.Claim(ch))
		t.absences[ch] = a
		t.host.Channels.Handle(ch, a)
	}
	if a.name != name {
		return nil, fmt.Errorf("%w: the names %q and %q have one channel, %v: rename one of the types",
			ErrConfig, a.name, name, ch)
	}
	return a, nil
}

// start ends the absence, and returns what was promised in it.
func (t *absence) start() protocol.Predecessor {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started = true
	return t.who.Predecessor
}

// resume begins it anew, with what holds from before.
func (t *absence) resume(past protocol.Predecessor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started, t.who.Predecessor = false, past
}

// Receive implements transport.Handler. What it does not answer is counted as a frame without a
// handler.
func (t *absence) Receive(from transport.NodeID, payload []byte) {
	rd := cbor.NewReader(dataplane.FrameOf(payload))
	taken := false
	switch kind, _ := codec.OpenFrame(rd); {
	case rd.Err() != nil:
	case kind == codec.Control:
		taken = t.hear(from, rd)
	case kind == codec.Farewell: // this node has asked it nothing
		taken = true
	case kind == codec.Inspect:
		call := rd.Uint()
		if taken = rd.Err() == nil; taken {
			t.send(from, transport.Data, dataplane.NotStartedReply(call))
		}
	}
	if !taken {
		t.host.Channels.CountDrop(transport.DropNoHandler, 1)
	}
}

// hear answers another node's machine, and reports whether it could.
func (t *absence) hear(from transport.NodeID, rd *cbor.Reader) bool {
	body := rd.Bytes(cbor.Any)
	if rd.Err() != nil {
		return false
	}
	m, err := protocol.DecodeMessage(body)
	if err != nil {
		return false
	}
	answer, absent := t.answer(m)
	if answer != nil {
		t.send(from, transport.Control, codec.AppendControl(nil, protocol.AppendMessage(nil, answer)))
	}
	return absent
}

// send puts a frame on its way. What does not fit is lost: a caller that wants an answer asks
// again, or names the nodes that gave none.
func (t *absence) send(to transport.NodeID, lane transport.Lane, frame []byte) {
	_ = t.host.Channels.Append(to, lane, 0, t.channel, func(dst []byte) []byte { return append(dst, frame...) }, nil)
}

// answer is what the absence says to a message, nil for nothing; absent is false while the type
// runs, whose region answers.
func (t *absence) answer(m protocol.Message) (answer protocol.Message, absent bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started {
		return nil, false
	}
	return t.who.Answer(m), true
}
