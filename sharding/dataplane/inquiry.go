package dataplane

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Inquiry is one node being asked.
type Inquiry struct {
	Question[codec.State]
	node uint64
	call *asks.Call
	err  error
}

// Inquire asks a node and does not wait. The region's own node is asked without a frame.
func (r *Plane) Inquire(node uint64, what codec.Inspection, id string) *Inquiry {
	q := &Inquiry{Question: Question[codec.State]{R: r, Plain: true}, node: node}
	if q.err = r.Users.Err(); q.err != nil {
		return q
	}
	if node == r.Self {
		q.Value = r.Inspect(what, id)
		return q
	}
	var call uint64
	if q.call, call, q.err = r.Asks.Begin(&q.Question); q.err != nil {
		return q
	}
	r.Asks.Sent(call, node)
	o := r.Out.frame()
	defer o.release()
	otherwise := host.Question{Lane: transport.Data, Otherwise: NotStartedReply(call)}
	o.body = codec.AppendInspect(otherwise.Append(o.body[:0]), call, what, id)
	err := r.Out.send(node, o)
	switch {
	case err == nil:
		return q
	case errors.Is(err, transport.ErrNoPeer):
		err = fmt.Errorf("%w: %w", failure.ErrNodeGone, err)
	case errors.Is(err, transport.ErrQueueFull):
		err = fmt.Errorf("%w: %w", failure.ErrBufferFull, err)
	}
	q.err = err
	return q
}

// Wait waits for the answer.
func (q *Inquiry) Wait(ctx context.Context) (codec.State, error) {
	if q.call == nil {
		return q.Value, q.err
	}
	err := q.Question.Wait(ctx, q.call, q.err)
	return q.Value, err
}
