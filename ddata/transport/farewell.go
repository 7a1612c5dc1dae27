package transport

import (
	"context"
	"fmt"
	"time"
)

// Flush waits until the peers have received what was queued in the Data lane.
func (m *Mesh) Flush(ctx context.Context) error { return m.out.flush(ctx) }

// Depart has other nodes send nothing more in the Data lane.
func (m *Mesh) Depart(ctx context.Context) error {
	select {
	case <-m.in.gates.askToEnd(m.all.Go):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("transport: depart: %w", context.Cause(ctx))
	}
}

// Close stops everything and waits for it.
func (m *Mesh) Close() error {
	if m.in.conns.close() {
		links := m.out.close()
		m.in.listener.Close()
		for _, l := range links {
			l.close(ErrClosed)
		}
		m.awaitEnds(m.in.gates.askToEnd(m.all.Go))
		m.cancel()
		m.in.conns.abortAll()
	}
	m.all.Wait()
	return nil
}

// awaitEnds waits until the links have written what they hold, and other nodes have ended theirs to
// this one, at most Linger.
func (m *Mesh) awaitEnds(quiet <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		m.out.running.Wait()
		close(done)
	}()
	t := time.NewTimer(m.local.cfg.Linger)
	defer t.Stop()
	written := done
	for quiet != nil || written != nil {
		select {
		case <-written:
			written = nil
		case <-quiet:
			quiet = nil
		case <-t.C:
			m.cancel()
			<-done
			return
		}
	}
}
