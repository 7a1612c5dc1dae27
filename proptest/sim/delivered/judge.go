package delivered

import (
	"github.com/coterie-go/coterie/sharding/delivery"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// Judge knows of every delivery that a handler was given, of how its handler has ended, and of what
// producers and their queues were told.
type Judge struct {
	violate  func(check, format string, args ...any)
	flows    map[flow]*handling // only looked up
	upTo     map[stream]uint64  // what some incarnation has handled, in order; only looked up
	messages map[number]of      // only looked up
	handled  map[what]int       // how many of a kind; only looked up
	confirms map[what]int       // how many of a kind producers had confirmed; only looked up
	counts   Judged
}

// Judged counts what the Judge has seen.
type Judged struct{ Given, Again, Handled, Failed, Confirmed uint64 }

// stream is what a producer sends to one entity under one session.
type stream struct {
	producer string
	session  delivery.Session
}

// number names a delivery.
type number struct {
	stream
	seq uint64
}

// flow is what an incarnation of an entity gets from a producer.
type flow struct {
	incarnation uint64
	producer    string
}

// handling is how far an incarnation is with a producer.
type handling struct {
	open delivery.RowKey // that the handler has; zero: none
	last delivery.RowKey // that was handled last; zero: none was
}

// of is which message has a number.
type of struct {
	what
	given int
}

// what is a message of a producer. Those that are equal are of one kind.
type what struct{ producer, entity, body string }

// NewJudge makes one that has seen nothing.
func NewJudge(violate func(check, format string, args ...any)) *Judge {
	return &Judge{
		violate: violate, flows: map[flow]*handling{}, upTo: map[stream]uint64{}, messages: map[number]of{},
		handled: map[what]int{}, confirms: map[what]int{},
	}
}

// Counts are what it has seen so far.
func (j *Judge) Counts() Judged { return j.counts }

// Stepped judges a step of a consumer. It returns what is given to the handler next, and whether a handler
// has been given that before; nil: nothing is.
func (j *Judge) Stepped(s delivery.Step) (p *protocol.Packet, again bool) {
	switch in := s.In.(type) {
	case protocol.Handled:
		j.ends(s, in, true)
	case protocol.Failed:
		j.ends(s, protocol.Handled(in), false)
	}
	if p = s.Fx.Deliver; p == nil {
		return nil, false
	}
	return p, j.gives(s, p)
}

// gives judges what a handler is given.
func (j *Judge) gives(s delivery.Step, p *protocol.Packet) (again bool) {
	j.counts.Given++
	n, kind := number{stream{p.Producer, p.Session}, p.Seq}, what{p.Producer, s.Entity, string(p.Body)}
	known := j.messages[n]
	if known.given > 0 && known.what != kind {
		j.violate("a number stays with its message", "%v #%d of %s is %q to %s, and was %q to %s",
			p.Session, p.Seq, p.Producer, p.Body, s.Entity, known.body, known.entity)
	}
	j.messages[n] = of{kind, known.given + 1}
	if upTo := j.upTo[n.stream]; p.Seq > upTo+1 {
		j.violate("no delivery is left out", "%s gets %v #%d of %s, and what was handled ends with #%d",
			s.Entity, p.Session, p.Seq, p.Producer, upTo)
	}
	h := j.handling(s.Incarnation, p.Producer)
	switch order := p.Session.Compare(h.last.Session); {
	case order < 0:
		j.violate("deliveries keep their order", "%s gets %v of %s, and has handled %v in the same incarnation",
			s.Entity, p.Session, p.Producer, h.last.Session)
	case order == 0 && p.Seq <= h.last.Seq:
		j.violate("an incarnation handles a delivery once", "%s gets %v #%d of %s, and has handled #%d",
			s.Entity, p.Session, p.Seq, p.Producer, h.last.Seq)
	}
	if h.open.Session == p.Session && h.open.Seq != 0 {
		j.violate("a handler has one delivery at a time", "%s gets %v #%d of %s, and has #%d yet",
			s.Entity, p.Session, p.Seq, p.Producer, h.open.Seq)
	}
	h.open = delivery.RowKey{Session: p.Session, Seq: p.Seq}
	if known.given > 0 {
		j.counts.Again++
	}
	return known.given > 0
}

// ends takes how a handler has ended, unless that is about another delivery than the one that it has.
func (j *Judge) ends(s delivery.Step, in protocol.Handled, handled bool) {
	h := j.handling(s.Incarnation, in.Producer)
	if key := (delivery.RowKey{Session: in.Session, Seq: in.Seq}); in.Incarnation != s.Incarnation || h.open != key {
		return
	}
	key := h.open
	h.open = delivery.RowKey{}
	if !handled {
		j.counts.Failed++
		return
	}
	j.counts.Handled++
	h.last = key
	of := stream{in.Producer, key.Session}
	if key.Seq > j.upTo[of] {
		j.upTo[of] = key.Seq
		j.handled[j.messages[number{of, key.Seq}].what]++
	}
}

func (j *Judge) handling(incarnation uint64, producer string) *handling {
	f := flow{incarnation, producer}
	h := j.flows[f]
	if h == nil {
		h = &handling{}
		j.flows[f] = h
	}
	return h
}

// Confirmed judges a confirmation that a caller of a producer has: so many messages of the kind were
// handled. body is as the producer encoded the message.
func (j *Judge) Confirmed(producer, entity string, body []byte) {
	kind := what{producer, entity, string(body)}
	j.counts.Confirmed++
	if j.confirms[kind]++; j.confirms[kind] > j.handled[kind] {
		j.violate("what is confirmed was handled", "%s to %s: %q was confirmed %d times, and handled %d times",
			producer, entity, body, j.confirms[kind], j.handled[kind])
	}
}

// Handled reports whether some incarnation has handled what has a number.
func (j *Judge) Handled(producer string, key delivery.RowKey) bool {
	return key.Seq <= j.upTo[stream{producer, key.Session}]
}

// removed judges that a queue keeps a message no more.
func (j *Judge) removed(producer string, key delivery.RowKey) {
	if !j.Handled(producer, key) {
		j.violate("a queue keeps what was not handled", "%s: %v #%d is removed", producer, key.Session, key.Seq)
	}
}
