package network

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// tell tells of a packet between two processes, of which one may not be known.
func (n *Network) tell(kind story.Kind, from, to Endpoint, pk *Packet, how string) {
	if !n.trace.Watching() {
		return
	}
	var r story.Record
	if n.settings.Describe != nil {
		r = n.settings.Describe(pk)
	}
	at, peer := from, to
	if kind == story.Received {
		at, peer = to, from
	}
	if at == nil {
		return
	}
	r.Kind, r.Message = kind, strconv.FormatUint(pk.number, 10)
	if peer != nil {
		r.Peer, _ = trace.Lane(peer)
	}
	if how != "" {
		r.Text += " is lost " + how
	}
	n.trace.Record(at, r)
}

// lost counts a packet that does not arrive.
func (n *Network) lost(from, to Endpoint, pk *Packet, how string) {
	n.Traffic.Lost++
	n.tell(story.Lost, from, to, pk, how)
}

// tellOf tells of a frame.
func (s *Stripe) tellOf(kind story.Kind, f *frame, how string) {
	if s.n.trace.Watching() {
		s.n.tell(kind, s.from, s.to, &Packet{
			From: s.from.UID(), lane: Data, number: f.number, To: ToShard, Channel: f.ch, Payload: f.payload,
		}, how)
	}
}

// itself is the subject of what the network does by itself.
type itself struct{}

func (itself) String() string { return trace.World }

// closed is the matrix of f, after it is told which ways are closed by that, and that none is if that is new.
func (n *Network) closed(what string, before [64]uint64, f func(from, to int) bool) [64]uint64 {
	now := n.matrix(f)
	switch {
	case now == before || !n.trace.Watching():
	case now == [64]uint64{}:
		n.trace.Note(itself{}, "%s ENDS", what)
	default:
		n.trace.Fault(itself{}, "%s %s", what, ways(now[:n.settings.Slots]))
	}
	return now
}

// ways prints a matrix.
func ways(closed []uint64) string {
	var all []string
	for a, to := range closed {
		if to == 0 {
			continue
		}
		text := fmt.Sprintf("n%d to", a)
		for b := range closed {
			if to>>b&1 == 1 {
				text += fmt.Sprintf(" n%d", b)
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
