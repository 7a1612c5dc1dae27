package protocol

import "fmt"

// ProducerInput is Submit, Ack, Stored, Unsent, Moved, Flush or Tick.
type ProducerInput interface{ producerInput() }

type (
	// Submit is a message that must be delivered. Op names it in its Outcome.
	Submit struct {
		Op      uint64
		Entity  string
		Body    []byte // the producer's from now on
		Confirm bool   // the outcome that is waited for is the confirmation, and not that the producer has it
	}
	// Stored answers the last Store: all of it is durable, or nothing.
	Stored struct{ Err error }
	// Unsent: a packet of this entity could not be put on its way.
	Unsent struct {
		Entity  string
		Session Session
	}
	// Moved: entities have lost their home, or have got another; what was under way to the earlier
	// one may be gone.
	Moved struct {
		Of func(entity string) bool // which ones
	}
	// Flush comes when no more inputs wait: packets go out.
	Flush struct{}
	// Tick comes at the Deadline.
	Tick struct{}
)

func (Submit) producerInput() {}
func (Ack) producerInput()    {}
func (Stored) producerInput() {}
func (Unsent) producerInput() {}
func (Moved) producerInput()  {}
func (Flush) producerInput()  {}
func (Tick) producerInput()   {}

// Effects is what a step asks for, in this order. It is valid until the next one.
type Effects struct {
	Store *Batch // becomes durable whole or not at all, and is answered by Stored; nil: nothing
	Send  []PacketSend
	Done  []Outcome
	Freed []int // the sizes of the bodies that are no longer held
}

// Batch is what the durable queue gets at a time.
type Batch struct {
	Add    []Row
	Remove []RowKey
}

// RowKey names one stored message.
type RowKey struct {
	Session Session
	Seq     uint64
}

// Row is one stored message.
type Row struct {
	RowKey
	Entity string
	Body   []byte
}

// PacketSend is a packet and where it goes.
type PacketSend struct {
	Entity string
	Packet Packet
}

// Result is what became of a Submit.
type Result uint8

const (
	// Accepted: the producer has it, and stored it if it is durable.
	Accepted Result = iota
	// Confirmed: the entity's handler has confirmed it.
	Confirmed
	// NotStored: the store failed; it will not be delivered.
	NotStored
	// GivenUp: a later producer of the same id was met; whether it was delivered is unknown.
	GivenUp
	// NoRoom: BufferMax messages are unconfirmed.
	NoRoom
)

var resultNames = [...]string{"accepted", "confirmed", "not stored", "given up", "no room"}

func (r Result) String() string {
	if int(r) < len(resultNames) {
		return resultNames[r]
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Outcome ends a Submit.
type Outcome struct {
	Op     uint64
	Result Result
	Err    error // of the store
}

// Strings prints the effects, one a line.
func (fx *Effects) Strings() []string {
	var out []string
	if b := fx.Store; b != nil {
		for _, r := range b.Add {
			out = append(out, fmt.Sprintf("store %s %v #%d %q", r.Entity, r.Session, r.Seq, r.Body))
		}
		for _, k := range b.Remove {
			out = append(out, fmt.Sprintf("remove %v #%d", k.Session, k.Seq))
		}
	}
	for _, s := range fx.Send {
		out = append(out, fmt.Sprintf("to %s: %v", s.Entity, s.Packet))
	}
	for _, o := range fx.Done {
		out = append(out, fmt.Sprintf("op %d %v", o.Op, o.Result))
	}
	return out
}

// Strings prints the effects, one a line.
func (fx *ConsumerEffects) Strings() []string {
	var out []string
	for _, s := range fx.Send {
		out = append(out, fmt.Sprintf("to %s at %d: %v", s.Box, s.To, s.Ack))
	}
	if p := fx.Deliver; p != nil {
		out = append(out, fmt.Sprintf("deliver %s %v #%d %q", p.Producer, p.Session, p.Seq, p.Body))
	}
	return out
}
