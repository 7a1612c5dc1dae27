package shardingtest

import (
	"context"
	"sync"

	"github.com/coterie-go/coterie/sharding"
)

// Ask asks an entity and waits for its reply. Time passes meanwhile if nothing else can happen: until a
// restart, the answer of a slow store, or EntityType.Timeouts.Ask. Errors: those of sharding.Ask.
func Ask[M, R any](k *Kit[M], id string, req sharding.Request[M, R]) (R, error) {
	k.t.Helper()
	return StartAsk(k, id, req).Wait()
}

// StartAsk asks an entity, and returns when everything has happened that can happen without time.
func StartAsk[M, R any](k *Kit[M], id string, req sharding.Request[M, R]) *Question[R] {
	k.t.Helper()
	k.Include(id)
	k.note(id, "is asked %s", shown(req))
	q := &Question[R]{n: k.Node, over: make(chan struct{})}
	k.run(func() {
		k.time.begin(func() {
			v, err := sharding.Ask(context.Background(), k.region.Ref(id), req)
			k.note(id, "has answered %T: %v, %v", req, v, err)
			q.mu.Lock()
			q.value, q.err = v, err
			q.mu.Unlock()
			close(q.over)
		})
	})
	return q
}

// Question is one that was asked.
type Question[R any] struct {
	n    *Node
	over chan struct{} // closed when the answer is here

	mu    sync.Mutex
	value R
	err   error
}

// Answered reports whether the answer, or an error, is here.
func (q *Question[R]) Answered() bool {
	select {
	case <-q.over:
		return true
	default:
		return false
	}
}

// Wait waits for the answer. Time passes if nothing else can happen.
func (q *Question[R]) Wait() (R, error) {
	q.n.t.Helper()
	q.n.Do(func() { q.n.time.Await(q.over, nil, nil) })
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.value, q.err
}
