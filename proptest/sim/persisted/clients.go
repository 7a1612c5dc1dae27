package persisted

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/judge"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// send sends one command after another, from any process, until the world has healed.
func (e *Entities) send() {
	if e.w.Healed() {
		e.w.After(e.opt.Gap, nil, e.probe)
		return
	}
	p := workload.Client(e.w, e.rng, e.opt.Gap, e.send)
	if p == nil {
		return
	}
	n := e.nodes[p.UID()]
	if n == nil || !n.p.Usable() {
		return
	}
	h := n.types[e.rng.IntN(len(n.types))]
	id := idOf(e.rng.IntN(e.opt.Entities))
	switch {
	case e.rng.IntN(100) == 0:
		n.p.Enter(func() {
			ctx, cancel := n.p.WithTimeout(context.Background(), stall.AskState)
			defer cancel()
			_ = h.region.Passivate(ctx, id) // else it is asked again some time
		})
	case !random.Chance(e.rng, e.opt.Asks):
		m := Add{Number: e.next(), Parts: e.parts(h.typ)}
		e.counts.Told++
		n.p.Enter(func() {
			ctx, cancel := n.p.WithTimeout(context.Background(), stall.AskState)
			defer cancel()
			_ = h.region.Tell(ctx, id, m) // it is stored, or is not: no more is known of it
		})
	case random.Chance(e.rng, e.opt.Looks):
		n.p.Enter(func() { e.ask(n, h, id, 0) })
	default:
		parts := e.parts(h.typ)
		n.p.Enter(func() { e.ask(n, h, id, parts) })
	}
}

// next is the number of a command.
func (e *Entities) next() uint64 {
	e.commands++
	return e.commands
}

// ask asks an entity to store so many records, or for its state, and judges the answer. It reports
// whether there was one.
func (e *Entities) ask(n *node, h *handlers, id string, parts uint64) bool {
	ctx, cancel := n.p.WithTimeout(context.Background(), stall.AskState)
	defer cancel()
	number := e.next()
	q := e.judge.Asks(judge.Entity{Type: h.typ, ID: id}, number, parts > 0)
	began := n.p.Now()
	e.counts.Asked++
	e.trace.Entity(n.p, h.typ, id, "ASKS %s/%s command %d", h.typ, id, number)
	var got judge.Receipt
	var err error
	if to := h.region.Ref(id); parts > 0 {
		got, err = sharding.Ask(ctx, to, Add{Number: number, Parts: parts})
	} else {
		got, err = sharding.Ask(ctx, to, Look{Number: number})
	}
	took := min(n.p.Now().Sub(began), time.Duration(e.w.Now()-n.p.Resumed())) // no timer ran while it stood still
	if most := stall.AskState + 2*time.Second; took > most {
		e.w.Violate("a question ends in time", "command %d took %v: %v", number, took, err)
	}
	e.trace.Entity(n.p, h.typ, id, "command %d of %s/%s ends: %+v %v", number, h.typ, id, got, err)
	if err != nil {
		return false
	}
	e.counts.Answered++
	e.judge.Answered(q, got)
	return true
}

// probe has each process of the healed world ask each entity until it has answered.
func (e *Entities) probe() {
	e.w.After(stall.ProbeGap, nil, e.probe)
	for _, p := range e.w.Processes() {
		n := e.nodes[p.UID()]
		if n == nil || n.probing || !p.Usable() {
			continue
		}
		n.probing = true
		p.Enter(func() { e.probeAll(n) })
	}
}

func (e *Entities) probeAll(n *node) {
	for _, h := range n.types {
		for i := range e.opt.Entities {
			for !e.ask(n, h, idOf(i), uint64(i%2)) {
				if n.p.Host().Lifecycle.Ended() != nil {
					return
				}
				over := make(chan struct{})
				n.p.AfterFunc(100*time.Millisecond, func() { close(over) })
				n.p.Await(over, nil)
			}
		}
	}
	n.answered = true
}

// Missing says which process still waits for an entity of the healed world; empty: none.
func (e *Entities) Missing() string {
	if e.opt.Entities == 0 {
		return ""
	}
	for _, p := range e.w.Processes() {
		if n := e.nodes[p.UID()]; n == nil || !n.answered {
			return p.String() + " has not had answers of all entities"
		}
	}
	return ""
}

// Finish reads what the store has in the end.
func (e *Entities) Finish() {
	if m := e.Missing(); m != "" {
		e.w.Violate("each entity answers in the end", "%s", m)
	}
	for _, typ := range e.types() {
		for i := range e.opt.Entities {
			e.finish(typ, idOf(i))
		}
	}
}

func (e *Entities) finish(typ, id string) {
	of := judge.Entity{Type: typ, ID: id}
	if typ == States {
		v, ok := e.store.Value(typ, protocol.EntityID(id))
		s, err := stateOf(v.Body)
		if ok && err != nil {
			e.w.Violate("persisted", "%v: %v", of, err)
		}
		e.judge.Last(of, v.Revision, s.Sum)
		return
	}
	var records []judge.Record
	end, err := e.store.Contents(typ, protocol.EntityID(id), func(ev persistence.Event) {
		r, _ := recordOf(ev.Body)
		records = append(records, r)
	})
	if err != nil {
		e.w.Violate("persisted", "%v: %v", of, err)
	}
	e.judge.End(of, end.Deleted, records)
}
