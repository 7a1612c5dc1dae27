package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/proptest/sim/handlers"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// tell is one numbered message to an entity. The world knows all of them; what travels is their
// number.
type tell struct {
	id     int
	typ    int
	shard  protocol.ShardID
	entity protocol.EntityID
	from   *Process
	seq    uint64 // of this sender to this entity, from 1
	fate   string // how it ended; empty: it is still on its way
	at     int64  // when it was sent
}

func (m *tell) String() string {
	return fmt.Sprintf("tell#%d %v→T%d/%s(%v) seq %d", m.id, m.from, m.typ, m.entity, m.shard, m.seq)
}

// typeName is the name of the entity's type.
func (m *tell) typeName() string { return m.from.types[m.typ].t.Name }

// handledFate is the fate of a message that a handler has taken.
const handledFate = "handled"

// encodedFate is a guess about a message that is missing long after it was sent: one to its entity
// was dropped, and the drop has not said which.
const encodedFate = "dropped in encoded form"

// end marks how a message ended without being handled.
func (w *World) end(m *tell, fate string) {
	mail := w.shardChecker.mailOf(m.typ, m.entity)
	switch m.fate {
	case "":
		mail.ended++
	case encodedFate: // it was another that was dropped
		mail.dropped++
	default:
		return
	}
	m.fate = fate
	w.trace.Entity(m.from, m.typeName(), string(m.entity), "%v ENDS: %s", m, fate)
}

// refusedFate begins the fate of a message whose sender knows that it was not taken.
const refusedFate = "refused: "

// notTaken notes that a Tell has failed. Where nothing breaks that is because the type is closed.
func (w *World) notTaken(m *tell, err error) {
	if w.opt.Calm && !errors.Is(err, sharding.ErrStopped) {
		w.violate("hand-off loses nothing", "%v: %v", m, err)
	}
	if m.fate == handledFate {
		w.violate("what is refused is not handled", "%v was handled, and its sender was told: %v", m, err)
	}
	w.end(m, refusedFate+err.Error())
}

// asked checks how a question ended.
func (w *World) asked(m *tell, got uint32, err error, took time.Duration) {
	switch {
	case err == nil && int(got) != m.id:
		w.violate("an answer is that of its question", "%v was answered with %d", m, got)
	case err == nil && m.fate != handledFate:
		w.violate("an answer is that of its question", "%v was answered, and %q", m, m.fate)
	case err == nil:
		w.counts.Answered++
		m.from.types[m.typ].questions.answer()
	case errors.Is(err, sharding.ErrTimeout):
		if m.fate == "" { // no more is known of it; a handler may take it later
			w.end(m, "its asker waited too long")
		}
	}
	took = min(took, time.Duration(w.now-m.from.resumed)) // no timer ran during a pause
	if most := askTimeout + 2*time.Second; took > most && !m.from.behind {
		w.violate("a question ends in time", "%v took %v: %v", m, took, err)
	}
	if err != nil && m.fate == "" {
		w.end(m, "its asker was told: "+err.Error())
	}
}

// dropped is the hook of a region that drops a message.
func (d *typeHost) hear(e events.Event) {
	x, dropped := e.(sharding.Drop)
	w := d.p.w
	if dropped && x.Reason == sharding.DropLateReply {
		d.questions.late++
		d.checkAnswers()
	}
	if !dropped || x.ID == "" || !d.p.alive {
		return
	}
	m := w.tellIn(w.frame)
	if sent, is := x.Message.(handlers.Message); is {
		m = w.tells[sent.Number()]
	}
	w.counts.Dropped++
	w.trace.Entity(d.p, d.t.Name, x.ID, "DROPS %v (%v)", x, m)
	if m == nil || m.typ != d.index || string(m.entity) != x.ID {
		w.shardChecker.mailOf(d.index, protocol.EntityID(x.ID)).dropped++
		return
	}
	if m.fate == handledFate && x.Reason != sharding.DropNodeLost {
		w.violate("what is handled is not dropped", "%v: %v", m, x)
	}
	w.end(m, x.Reason.String())
}

// tellIn finds the message of a frame; nil: it has none.
func (w *World) tellIn(frame []byte) *tell {
	if frame == nil {
		return nil
	}
	rd := cbor.NewReader(dataplane.FrameOf(frame))
	kind, fields := codec.OpenFrame(rd)
	if rd.Err() != nil || kind != codec.Tell && kind != codec.Ask {
		return nil
	}
	var m codec.Message
	if m.Read(rd, kind, fields); rd.Err() != nil {
		return nil
	}
	return w.tellOf(m.Body)
}

// tellOf finds the message of a body; nil: it is none.
func (w *World) tellOf(body []byte) *tell {
	rd := cbor.NewReader(body)
	n := rd.Uint()
	if rd.Err() != nil || n >= uint64(len(w.tells)) {
		return nil
	}
	return w.tells[n]
}

// lostFrame ends the message of a frame that goes nowhere.
func (w *World) lostFrame(frame []byte, fate string) {
	w.counts.Lost++
	if m := w.tellIn(frame); m != nil {
		w.end(m, fate)
	}
}

// bury ends what was in the memory of a process that ends, and what ran there.
func (w *World) bury(p *Process) {
	for _, d := range p.types {
		if d.plane == nil {
			continue
		}
		d.order.End(w.now)
		d.plane.R.Contents(func(env mailbox.Envelope, raw *codec.Message) {
			var m *tell
			if raw != nil {
				m = w.tellOf(raw.Body)
			} else if sent, is := env.Msg.(handlers.Message); is {
				m = w.tells[sent.Number()]
			}
			if m != nil {
				w.end(m, "died with "+p.String())
			}
		})
	}
}
