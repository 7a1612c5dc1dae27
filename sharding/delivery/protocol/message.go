package protocol

import (
	"cmp"
	"fmt"
)

// Session names one channel: what a producer sends to one entity until the channel was cleaned up.
// Sessions of a producer are ordered; a consumer follows the highest that it has seen.
type Session struct {
	Generation uint64 // of the producer's process; higher at each start
	Channel    uint64 // counted by the producer
}

// Compare orders sessions.
func (s Session) Compare(o Session) int {
	return cmp.Or(cmp.Compare(s.Generation, o.Generation), cmp.Compare(s.Channel, o.Channel))
}

func (s Session) String() string { return fmt.Sprintf("%d.%d", s.Generation, s.Channel) }

// Packet is one message on its way to an entity.
type Packet struct {
	Origin   uint64 // uid of the producer's node, where acks go
	Producer string // id of the producer, and the name of its box
	Session  Session
	Seq      uint64 // of the message in its session, from 1
	Base     uint64 // everything below was confirmed when this was sent
	Round    uint32 // counts how often the session went back to send again
	AckNow   bool   // answer when it is handled: nothing else may follow
	Body     []byte
}

func (p Packet) String() string {
	now := ""
	if p.AckNow {
		now = " ack"
	}
	return fmt.Sprintf("packet %s %v #%d base %d round %d%s %q",
		p.Producer, p.Session, p.Seq, p.Base, p.Round, now, p.Body)
}

// Verdict is what a consumer says of a packet.
type Verdict uint8

const (
	// Fine: nothing is missing.
	Fine Verdict = iota
	// Gap: messages from Expected on are missing and shall be sent again.
	Gap
	// Busy: the consumer has no room for another producer; try again later.
	Busy
	// Superseded: the consumer knows a later generation of this producer.
	Superseded
	verdicts
)

var verdictNames = [verdicts]string{"fine", "gap", "busy", "superseded"}

func (v Verdict) String() string {
	if v < verdicts {
		return verdictNames[v]
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// Ack is a consumer's word to a producer, about one session.
type Ack struct {
	Entity    string
	Session   Session
	Verdict   Verdict
	Confirmed uint64 // everything up to here was handled
	Expected  uint64 // the next one that is not there; above Confirmed
	Window    uint32 // how many may be under way beyond Confirmed
	Round     uint32 // of the last packet
}

func (a Ack) String() string {
	return fmt.Sprintf("ack %s %v %v confirmed %d expected %d window %d round %d",
		a.Entity, a.Session, a.Verdict, a.Confirmed, a.Expected, a.Window, a.Round)
}
