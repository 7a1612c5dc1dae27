package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/transport"
)

// inspection says what is asked of a region.
type inspection uint8

const (
	inspectTotals inspection = iota + 1
	inspectCounts            // and those of each shard
	inspectIDs               // and the ids of active entities
	inspectEntity            // one shard, and whether one entity of it is active
	inspectEnd
)

// Bounds of what is answered.
const (
	inspectIDBytes = 1 << 20 // of ids
	inspectionsMax = 16      // answered at one time
)

// wireState is an answer.
type wireState struct {
	_                      struct{} `cbor:",toarray"`
	Proxy, Registered, Cut bool
	Entities, Active       uint32
	Shards                 []wireShard
}

type wireShard struct {
	_                       struct{} `cbor:",toarray"`
	Number, Entities, Alive uint32
	IDs                     []string
}

func appendInspect(dst []byte, call uint64, what inspection, id string) []byte {
	return cbor.AppendText(cbor.AppendUint(cbor.AppendUint(beginFrame(dst, frameInspect, 4), call), what), id)
}

// receiveInspect answers beside the reader of the connection: to list what runs here takes a while.
func (r *core) receiveInspect(from uint64, rd *cbor.Reader) {
	call, what, id := rd.Uint(), inspection(rd.UintMax(uint64(inspectEnd)-1)), string(rd.RawText(cbor.Any))
	if rd.Err() != nil || what == 0 || len(id) > idMax || len(rd.Rest()) > 0 {
		r.malformed(from)
		return
	}
	env := envelope{call: call, origin: from}
	if r.inspections.Add(1) > inspectionsMax {
		r.inspections.Add(-1)
		r.out.replyError(env, statusFull, "too many inspections at one time")
		return
	}
	if !r.ctl.aside(func() {
		defer r.inspections.Add(-1)
		_ = r.out.reply(call, from, r.inspect(what, id), nil) // counted when it cannot be sent
	}) {
		r.inspections.Add(-1)
		r.out.replyError(env, statusStopped, "")
	}
}

// inspect looks at what is hosted here.
func (r *core) inspect(what inspection, id string) wireState {
	w := wireState{Proxy: r.proxy, Registered: r.standing.serves()}
	number, room := r.routes.shardOf(id), inspectIDBytes
	for _, s := range r.idleScan.shards() {
		if what == inspectEntity && s.number != number {
			continue
		}
		sh := wireShard{Number: s.number, Entities: uint32(s.count()), Alive: uint32(max(0, s.active.Load()))}
		w.Entities, w.Active = w.Entities+sh.Entities, w.Active+sh.Alive
		switch what {
		case inspectTotals:
			continue
		case inspectIDs:
			w.Cut = s.activeIDs(&sh.IDs, &room) || w.Cut
		case inspectEntity:
			sh.Entities, sh.Alive = 0, 0
			if e := s.find(id); e != nil && e.isStarted() {
				sh.Entities, sh.Alive = 1, 1
			}
		}
		w.Shards = append(w.Shards, sh)
	}
	return w
}

// activeIDs lists the ids of active entities while there is room, and reports whether there was too
// little.
func (s *shard) activeIDs(ids *[]string, room *int) (cut bool) {
	for _, e := range s.snapshot() {
		if !e.isStarted() {
			continue
		}
		if len(e.id) > *room {
			cut = true
			break
		}
		*room -= len(e.id)
		*ids = append(*ids, e.id)
	}
	slices.Sort(*ids)
	return cut
}

// inquiry is one node being asked.
type inquiry struct {
	question[wireState]
	node uint64
	call *call
	err  error
}

// inquire asks a node and does not wait. The region's own node is asked without a frame.
func (r *core) inquire(node uint64, what inspection, id string) *inquiry {
	q := &inquiry{question: question[wireState]{r: r, plain: true}, node: node}
	if r.isClosed() {
		q.err = ErrStopped
		return q
	}
	if node == r.self {
		q.value = r.inspect(what, id)
		return q
	}
	var call uint64
	if q.call, call, q.err = r.asks.begin(&q.question); q.err != nil {
		return q
	}
	r.asks.asked(call, node)
	o := r.out.frame()
	defer o.release()
	otherwise := host.Question{Lane: transport.Data, Otherwise: notStartedReply(call)}
	o.body = appendInspect(otherwise.Append(o.body[:0]), call, what, id)
	err := r.out.send(node, o)
	switch {
	case err == nil:
		return q
	case errors.Is(err, transport.ErrNoPeer):
		err = fmt.Errorf("%w: %w", ErrNodeGone, err)
	case errors.Is(err, transport.ErrQueueFull):
		err = fmt.Errorf("%w: %w", ErrBufferFull, err)
	}
	q.err = err
	return q
}

// wait waits for the answer.
func (q *inquiry) wait(ctx context.Context) (s RegionState, err error) {
	switch {
	case q.call != nil:
		err = q.question.wait(ctx, q.call, q.err)
	default:
		err = q.err
	}
	if err != nil {
		return s, err
	}
	w := &q.value
	s = RegionState{
		Node: membership.UID(q.node), Proxy: w.Proxy, Registered: w.Registered, Entities: int(w.Entities), Active: int(w.Active), Cut: w.Cut,
	}
	if v := q.r.cluster.View(); v != nil {
		m, _ := v.Member(s.Node)
		s.Addr = m.Addr
	}
	for _, sh := range w.Shards {
		s.Shards = append(s.Shards, ShardState{Shard: int(sh.Number), Entities: int(sh.Entities), Active: int(sh.Alive), IDs: sh.IDs})
	}
	return s, nil
}
