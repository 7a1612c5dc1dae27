package sharding

import (
	"fmt"
	"sync"

	"github.com/coterie-go/coterie/crdt/head"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func init() {
	ddata.OnRest(func(n *ddata.Node, ch transport.Channel) transport.Handler { return typesOf(n).absences.of(ch) })
}

// absences answer other nodes' machines for the entity types that a node has not started, see
// protocol.NotStarted.
type absences struct {
	host host.Host

	mu     sync.Mutex
	types  map[transport.Channel]*absence // that were started once, or in whose place something was promised
	kept   map[transport.NodeID]int       // how many of types a peer's questions have made
	warned bool
}

func channelOf(name string) transport.Channel { return transport.ChannelOf("sharding/" + name) }

// of takes the frames of a channel that has no handler. Nothing is kept of it before something is
// promised.
func (a *absences) of(ch transport.Channel) transport.Handler {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.types[ch]
	switch {
	case t == nil:
		return &absence{of: a, channel: ch}
	case t.started:
		return nil
	}
	return t
}

// named is the absence of a type, also while it is over.
func (a *absences) named(name string) *absence {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.namedLocked(name)
}

func (a *absences) namedLocked(name string) *absence {
	ch := channelOf(name)
	t := a.types[ch]
	if t == nil {
		t = &absence{of: a, channel: ch}
		a.types[ch] = t
	}
	return t
}

// start ends the absence of a type, and returns what was promised in it. It refuses a type whose
// channel another has had on this node: frames of one would be taken for frames of the other.
func (a *absences) start(name string) (protocol.Predecessor, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.namedLocked(name)
	if t.name != "" && t.name != name {
		return protocol.Predecessor{}, fmt.Errorf("%w: the names %q and %q have one channel, %v: rename one of the types", ErrConfig, t.name, name, t.channel)
	}
	a.releaseLocked(t)
	t.name, t.started = name, true
	return t.who.Predecessor, nil
}

// resume begins it anew, with what holds from before.
func (a *absences) resume(name string, past protocol.Predecessor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.namedLocked(name)
	t.started, t.who.Predecessor = false, past
}

// absence is one type that was not started here. Its fields belong to the lock of all.
type absence struct {
	of      *absences
	channel transport.Channel
	name    string // of the type that was started here; empty: none was yet
	who     protocol.NotStarted
	started bool
	peer    transport.NodeID // whose question has it kept; 0: none's
}

var _ transport.Handler = (*absence)(nil)

// Receive implements transport.Handler. What it does not answer is counted as a frame without a
// handler.
func (t *absence) Receive(from transport.NodeID, payload []byte) {
	rd := reader{b: payload}
	taken := false
	switch kind, _ := rd.open(); {
	case rd.bad:
	case kind == frameControl:
		taken = t.hear(from, &rd)
	case kind == frameFarewell: // this node has asked it nothing
		taken = true
	case kind == frameInspect:
		call := rd.head(head.Uint)
		if taken = !rd.bad; taken {
			t.send(from, transport.Data, appendErrorReply(nil, call, statusStopped, "the type is not started there"))
		}
	default:
		t.warn(from)
	}
	if !taken {
		t.of.host.Channels.CountDrop(transport.DropNoHandler, 1)
	}
}

// hear answers another node's machine, and reports whether it could.
func (t *absence) hear(from transport.NodeID, rd *reader) bool {
	body := rd.str(head.Bytes)
	if rd.bad {
		return false
	}
	m, err := protocol.DecodeMessage(body)
	if err != nil {
		return false
	}
	answer, absent := t.answer(from, m)
	if answer != nil {
		t.send(from, transport.Control, appendControl(nil, protocol.AppendMessage(nil, answer)))
	}
	return absent
}

// send puts a frame on its way. What does not fit is lost: a caller that wants an answer asks
// again, or names the nodes that gave none.
func (t *absence) send(to transport.NodeID, lane transport.Lane, frame []byte) {
	_ = t.of.host.Channels.Append(to, lane, 0, t.channel, func(dst []byte) []byte { return append(dst, frame...) }, nil)
}

// answer is what the absence says to a message, nil for nothing; absent is false while the type
// runs, whose region answers, and if the answer is a promise that finds no place.
func (t *absence) answer(from transport.NodeID, m protocol.Message) (answer protocol.Message, absent bool) {
	v := t.of.host.Cluster.View()
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if kept := t.of.types[t.channel]; kept != nil {
		t = kept
	} else if _, promises := m.(protocol.Inquire); promises && !t.of.keepLocked(t, from, v) {
		return nil, false
	}
	if t.started {
		return nil, false
	}
	return t.who.Answer(m), true
}

// warn says once that something else than a machine's message came: no node has a reason to send a
// message for an entity.
func (t *absence) warn(from transport.NodeID) {
	t.of.mu.Lock()
	first := !t.of.warned
	t.of.warned = true
	t.of.mu.Unlock()
	if first {
		t.of.host.Log.Warn("sharding: messages come for an entity type that was not started on this node; they are dropped", "from", membership.UID(from))
	}
}
