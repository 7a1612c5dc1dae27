package ddata

import (
	"context"
	"fmt"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership"
)

// PrepareForShutdown tells the whole cluster that it is about to be shut down. It returns when a
// view that says so (View.Closing) is here and at all members that this node reaches. From then on
// shards are neither balanced nor handed over, a shard that loses its home gets no other, and no
// node joins. Each node that leaves stops what it runs in place. So a cluster that is stopped node
// by node moves nothing. Without PrepareForShutdown each node would hand over to the next one to
// stop. Then stop every node by Leave or SIGTERM, in any order or all together.
//
// It cannot be taken back, and ends with the cluster: when all nodes have ended, those that start
// found it anew and nothing of it is left. A node that is started before that waits until then.
// Remembered entities start again as after any restart of the whole cluster.
//
// Errors: the context's with what the node waits for, and why the node ends if it does.
func (n *Node) PrepareForShutdown(ctx context.Context) error {
	closed, end := make(chan struct{}, 1), make(chan error, 1)
	defer n.watch(host.Watcher{End: func(err error) { end <- err }})()
	if err := n.life.why(); err != nil {
		return fmt.Errorf("ddata: prepare for shutdown: %w", err)
	}
	defer n.members.closeCluster(closed)()
	select {
	case <-closed:
		return nil
	case err := <-end:
		return fmt.Errorf("ddata: prepare for shutdown: %w", err)
	case <-ctx.Done():
		return fmt.Errorf("ddata: prepare for shutdown: the members did not decide in time, or not all that are "+
			"reached have shown that they know (%s): %w",
			n.members.waiting(), context.Cause(ctx))
	}
}

// closeCluster says the operator's word, and has closed told when all members that are reached
// close. cancel forgets closed.
func (m *members) closeCluster(closed chan<- struct{}) (cancel func()) {
	m.loop.Force(memberInput{do: func() { m.closers[closed] = true }})
	m.post(membership.CloseCluster{})
	return func() { m.loop.Force(memberInput{do: func() { delete(m.closers, closed) }}) }
}

// tellClosers tells the callers that wait for it that all members close.
func (m *members) tellClosers() {
	if len(m.closers) == 0 || !membersDriver(m).Machine().AllClose() {
		return
	}
	for closed := range m.closers {
		closed <- struct{}{}
	}
	clear(m.closers)
}
