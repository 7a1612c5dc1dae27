package protocol

import (
	"time"

	"github.com/coterie-go/coterie/ddata/config"
)

// ConsumerConfig says how an entity takes what is delivered. Zero means the default.
type ConsumerConfig struct {
	// Window is how many messages of one producer may be under way beyond what was confirmed.
	// Default 50.
	Window int
	// BufferMax is how many messages of all producers wait while earlier ones are handled late.
	// What does not fit is sent again. Default 1000.
	BufferMax int
	// ProducersMax is how many producers an incarnation of an entity knows at a time. Default 1000.
	ProducersMax int
	// ForgetAfter: when ProducersMax is reached, the producer that was silent for longest is
	// forgotten if that was for so long; if not, the new one is told to try again later. What a
	// forgotten one sends again is handled again, so it should be well above the producers'
	// ResendFirst. Default 120 s.
	ForgetAfter time.Duration
}

// WithDefaults returns the config with the default in place of each zero field that has one.
func (c ConsumerConfig) WithDefaults() ConsumerConfig {
	config.Default(&c.Window, 50)
	config.Default(&c.BufferMax, 1000)
	config.Default(&c.ProducersMax, 1000)
	config.Default(&c.ForgetAfter, 120*time.Second)
	return c
}

// Validate reports every fault together.
func (c ConsumerConfig) Validate() error {
	d := c.WithDefaults()
	var f config.Faults
	f.Add(d.Window < 1 || d.Window > 1<<20, "Window", "is %d, want 1 to %d", d.Window, 1<<20)
	f.Add(d.BufferMax < 1, "BufferMax", "%d is not positive", d.BufferMax)
	f.Add(d.ProducersMax < 1, "ProducersMax", "%d is not positive", d.ProducersMax)
	f.Add(d.ForgetAfter < 0, "ForgetAfter", "%v is negative", d.ForgetAfter)
	return f.Err("")
}

// Consumer is the receiving half, one per incarnation of an entity. It hands each producer's
// messages on one at a time and in order, each once, and answers when they were handled.
//
//	         Packet in order            Handled
//	idle ────────────────────► handling ───────► idle, or the next that waits
//	                              │ Failed
//	                              └─────► idle: it and what waits must be sent again
type Consumer struct {
	cfg         ConsumerConfig
	entity      string
	incarnation uint64
	flows       map[string]*flow
	order       []*flow // of flows, as they came
	buffered    int     // over all flows
	stats       ConsumerStats
	fx          ConsumerEffects
}

// flow is what is known of one producer.
type flow struct {
	producer string
	origin   uint64
	session  Session
	place    int // in order

	expected uint64 // the next that is taken; all below were taken, or confirmed by an earlier incarnation
	handled  uint64 // all up to here were; < expected
	handling uint64 // the one that the handler has; 0: none
	buffer   []Packet

	acked   uint64 // the Confirmed of the last ack
	ackNow  bool   // an answer is wanted when the one that the handler has is handled
	granted bool   // an ack has gone out, so that the producer knows the window
	round   uint32 // of the last packet
	asked   uint32 // the round after the last in which a gap was reported
	heard   time.Time
}

// ConsumerStats counts what a consumer saw.
type ConsumerStats struct {
	Producers  int // known now
	Buffered   int // wait now
	Delivered  uint64
	Duplicates uint64 // packets that had come before
	Gaps       uint64 // packets behind a missing one; they are sent again
	Failed     uint64 // deliveries that the handler has not confirmed, and will not
	Refused    uint64 // packets without room for them or for their producer
	Stale      uint64 // packets of an earlier session, and late words about them
	Forgotten  uint64 // producers
}

// ConsumerInput is Packet, Handled, Failed or Held.
type ConsumerInput interface{ consumerInput() }

type (
	// Handled: the handler has confirmed a message.
	Handled struct {
		Incarnation uint64
		Producer    string
		Session     Session
		Seq         uint64
	}
	// Failed: the handler has not confirmed it, and will not.
	Failed Handled
	// Held: the handler will confirm it later.
	Held struct{ Producer string }
)

func (Packet) consumerInput()  {}
func (Handled) consumerInput() {}
func (Failed) consumerInput()  {}
func (Held) consumerInput()    {}

// ConsumerEffects is what a step asks for, in this order. It is valid until the next one.
type ConsumerEffects struct {
	Send    []AckSend
	Deliver *Packet // to the handler, which is answered with Handled, Failed or Held; nil: nothing
}

// AckSend is an ack and where it goes.
type AckSend struct {
	To  uint64 // node
	Box string
	Ack Ack
}

// NewConsumer makes the consumer of one incarnation of an entity, which has a number unlike that of
// all others.
func NewConsumer(cfg ConsumerConfig, entity string, incarnation uint64) *Consumer {
	return &Consumer{cfg: cfg.WithDefaults(), entity: entity, incarnation: incarnation, flows: map[string]*flow{}}
}

// Entity is the id of the entity that it is the consumer of.
func (c *Consumer) Entity() string { return c.entity }

// Incarnation is the number that it was made with.
func (c *Consumer) Incarnation() uint64 { return c.incarnation }

// Stats counts.
func (c *Consumer) Stats() ConsumerStats {
	s := c.stats
	s.Producers, s.Buffered = len(c.flows), c.buffered
	return s
}

// Step takes one input.
func (c *Consumer) Step(now time.Time, in ConsumerInput) *ConsumerEffects {
	c.fx.Send, c.fx.Deliver = c.fx.Send[:0], nil
	switch in := in.(type) {
	case Packet:
		c.onPacket(now, in)
	case Handled:
		c.onHandled(in)
	case Failed:
		c.onFailed(in)
	case Held:
		c.onHeld(in)
	}
	return &c.fx
}

func (c *Consumer) onPacket(now time.Time, p Packet) {
	f := c.flows[p.Producer]
	if f == nil {
		if f = c.admit(now, p); f == nil {
			c.stats.Refused++
			c.refuse(p, Busy)
			return
		}
	}
	switch order := p.Session.Compare(f.session); {
	case order < 0:
		c.stats.Stale++
		if p.Session.Generation < f.session.Generation {
			c.refuse(p, Superseded)
		}
		return
	case order > 0:
		c.become(f, p)
	}
	f.heard, f.origin, f.round = now, p.Origin, max(f.round, p.Round)
	if p.Base > f.expected { // an earlier incarnation has confirmed what is between
		c.skip(f, p.Base)
	}
	switch {
	case p.Seq < f.expected:
		c.stats.Duplicates++
		if p.AckNow {
			c.ack(f, Fine)
		}
	case p.Seq > f.expected:
		c.stats.Gaps++
		c.reportGap(f, p)
	default:
		c.take(f, p)
	}
}

// admit makes a flow for a producer that is not known; nil: there is no room.
func (c *Consumer) admit(now time.Time, p Packet) *flow {
	if len(c.order) >= c.cfg.ProducersMax && !c.forgetOne(now) {
		return nil
	}
	f := &flow{producer: p.Producer, place: len(c.order)}
	c.become(f, p)
	c.flows[p.Producer] = f
	c.order = append(c.order, f)
	return f
}

// forgetOne drops the producer that was silent for longest, if it was silent for ForgetAfter. It
// reports whether it dropped one.
func (c *Consumer) forgetOne(now time.Time) bool {
	oldest := c.order[0]
	for _, f := range c.order {
		if f.heard.Before(oldest.heard) {
			oldest = f
		}
	}
	if now.Sub(oldest.heard) < c.cfg.ForgetAfter {
		return false
	}
	c.empty(oldest)
	last := c.order[len(c.order)-1]
	c.order[oldest.place], last.place = last, oldest.place
	c.order = c.order[:len(c.order)-1]
	delete(c.flows, oldest.producer)
	c.stats.Forgotten++
	return true
}

// become starts a session with what its producer knows to be unconfirmed.
func (c *Consumer) become(f *flow, p Packet) {
	c.empty(f)
	*f = flow{
		producer: f.producer, place: f.place, session: p.Session, expected: p.Base,
		handled: p.Base - 1, acked: p.Base - 1,
	}
}

func (c *Consumer) skip(f *flow, base uint64) {
	c.empty(f)
	f.expected, f.handled = base, base-1
}

func (c *Consumer) empty(f *flow) {
	c.buffered -= len(f.buffer)
	clear(f.buffer)
	f.buffer = f.buffer[:0]
}

// take accepts the expected packet: to the handler, or to wait behind what the handler has.
func (c *Consumer) take(f *flow, p Packet) {
	if f.handling != 0 && (c.buffered >= c.cfg.BufferMax || len(f.buffer)+1 >= c.cfg.Window) {
		c.stats.Refused++
		return
	}
	f.expected++
	if f.handling != 0 {
		f.buffer = append(f.buffer, p)
		c.buffered++
		return
	}
	c.deliver(f, p)
}

func (c *Consumer) deliver(f *flow, p Packet) {
	f.handling, f.ackNow = p.Seq, p.AckNow || !f.granted
	c.stats.Delivered++
	c.fx.Deliver = &p
}

// reportGap asks for what is missing, once per round, and again where an answer is wanted.
func (c *Consumer) reportGap(f *flow, p Packet) {
	if p.Round < f.asked && !p.AckNow {
		return
	}
	f.asked = p.Round + 1
	c.ack(f, Gap)
}

// flowOf finds what a handler's word is about; nil: about something that is over.
func (c *Consumer) flowOf(in Handled) *flow {
	f := c.flows[in.Producer]
	if in.Incarnation != c.incarnation || f == nil || f.session != in.Session ||
		f.handling == 0 || f.handling != in.Seq {
		c.stats.Stale++
		return nil
	}
	return f
}

func (c *Consumer) onHandled(in Handled) {
	f := c.flowOf(in)
	if f == nil {
		return
	}
	f.handling, f.handled = 0, max(f.handled, in.Seq)
	half := uint64(max(1, c.cfg.Window/2))
	if f.ackNow || f.handled-f.acked >= half {
		c.ack(f, Fine)
	}
	if len(f.buffer) > 0 {
		p := f.buffer[0]
		f.buffer[0] = Packet{}
		f.buffer = f.buffer[1:]
		c.buffered--
		c.deliver(f, p)
	}
}

// onFailed goes back: the message, and what waits behind it, must come again.
func (c *Consumer) onFailed(in Failed) {
	if f := c.flowOf(Handled(in)); f != nil {
		c.stats.Failed++
		c.empty(f)
		f.handling, f.expected = 0, f.handled+1
	}
}

// onHeld tells the producer of the window, which it would else learn with the first confirmation.
func (c *Consumer) onHeld(in Held) {
	if f := c.flows[in.Producer]; f != nil && !f.granted {
		c.ack(f, Fine)
	}
}

func (c *Consumer) ack(f *flow, v Verdict) {
	f.acked, f.granted = f.handled, true
	c.fx.Send = append(c.fx.Send, AckSend{To: f.origin, Box: f.producer, Ack: Ack{
		Entity: c.entity, Session: f.session, Verdict: v, Confirmed: f.handled, Expected: f.expected,
		Window: uint32(c.cfg.Window), Round: f.round,
	}})
}

func (c *Consumer) refuse(p Packet, v Verdict) {
	c.fx.Send = append(c.fx.Send, AckSend{To: p.Origin, Box: p.Producer, Ack: Ack{
		Entity: c.entity, Session: p.Session, Verdict: v, Confirmed: p.Base - 1, Expected: p.Base,
		Window: 1, Round: p.Round,
	}})
}
