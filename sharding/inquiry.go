package sharding

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/transport"
)

// inquiry is one node being asked.
type inquiry struct {
	question[codec.State]
	node uint64
	call *call
	err  error
}

// inquire asks a node and does not wait. The region's own node is asked without a frame.
func (r *core) inquire(node uint64, what codec.Inspection, id string) *inquiry {
	q := &inquiry{question: question[codec.State]{r: r, plain: true}, node: node}
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
	o.body = codec.AppendInspect(otherwise.Append(o.body[:0]), call, what, id)
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
func (q *inquiry) wait(ctx context.Context) (codec.State, error) {
	if q.call == nil {
		return q.value, q.err
	}
	err := q.question.wait(ctx, q.call, q.err)
	return q.value, err
}
