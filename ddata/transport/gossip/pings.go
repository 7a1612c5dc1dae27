package gossip

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/hashicorp/memberlist"
)

// A goroutine of memberlist that has sent a ping, its own or for another node, waits for the answer
// until its time is up, for seconds after Shutdown too. This file ends it: at the end memberlist
// gets the answers from this node.

// pings are those that may be waiting for an answer.
type pings struct {
	sent  []ping // the oldest first
	ended bool   // no more are sent
}

type ping struct {
	seq uint32
	at  time.Time
}

// notePing looks at a packet that memberlist sends. It reports whether the packet may go out:
// nothing does any more after endPings, so that what begins later fails at once.
func (b *bridge) notePing(packet []byte) bool {
	seq, isPing := pingIn(packet, b.label)
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &b.pings
	if isPing && !p.ended {
		now := time.Now()
		old := 0
		for old < len(p.sent) && (now.Sub(p.sent[old].at) > b.patience || len(p.sent)-old >= pingsMax) {
			old++
		}
		p.sent = append(slices.Delete(p.sent, 0, old), ping{seq, now})
	}
	return !p.ended
}

// endPings answers the pings that may be waiting, and returns when memberlist has read the answers.
// memberlist takes a packet when it is done with the one before, so one more answer, which it
// ignores, comes first and last.
func (b *bridge) endPings() {
	<-b.read // the context has ended
	b.answer(ping{})
	b.mu.Lock()
	sent := b.pings.sent
	b.pings = pings{ended: true}
	b.mu.Unlock()
	for _, p := range sent {
		b.answer(p)
	}
	b.answer(ping{})
}

func (b *bridge) answer(p ping) {
	b.reads <- &memberlist.Packet{Buf: ackOf(p.seq, b.label), From: sender(b.t.Addr()), Timestamp: time.Now()}
}

// pass hands packets on to memberlist until the context ends.
func (b *bridge) pass() {
	defer close(b.read)
	for {
		select {
		case p := <-b.packets:
			select {
			case b.reads <- p:
			case <-b.ctx.Done():
				return
			}
		case <-b.ctx.Done():
			return
		}
	}
}

// pingIn returns the number of the ping in a packet of this node. A ping comes first in its packet.
func pingIn(packet []byte, label string) (seq uint32, ok bool) {
	s := &screen{b: packet}
	if s.label(label) != nil {
		return 0, false
	}
	if len(s.b)-s.at >= 5 && s.b[s.at] == typeCRC {
		s.at += 5
	}
	if len(s.b)-s.at >= 2 && s.b[s.at] == typeCompound {
		s.at += 2 + 2*int(s.b[s.at+1])
	}
	if s.at >= len(s.b) || s.b[s.at] != typePing {
		return 0, false
	}
	s.at++
	err := s.fields(func(key string, number uint64) error {
		if key == "SeqNo" {
			seq, ok = uint32(number), true
		}
		return nil
	})
	return seq, ok && err == nil
}

// ackOf encodes an answer to a ping.
func ackOf(seq uint32, label string) []byte {
	b := []byte{typeLabel, byte(len(label))}
	b = append(b, label...)
	b = append(b, typeAck, 0x80|1, 0xa0|byte(len("SeqNo")))
	b = append(b, "SeqNo"...)
	return binary.BigEndian.AppendUint32(append(b, 0xce), seq)
}
