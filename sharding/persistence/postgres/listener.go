package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// listenAgain is the pause before a listener connects again.
const listenAgain = time.Second

// listener tells live queries, and watches of reminders, of news from the server. It has a connection while
// there are any. Without a connection they poll.
type listener struct {
	config *pgx.ConnConfig
	sql    string

	mu      sync.Mutex
	queries map[chan struct{}]topic
	stop    context.CancelFunc // nil: it does not run
	running sync.WaitGroup
}

func newListener(config *pgx.ConnConfig, sql string) *listener {
	return &listener{config: config, sql: sql, queries: map[chan struct{}]topic{}}
}

// join returns a channel that gets an element when there is news of a topic, and what ends that.
func (l *listener) join(of topic) (news <-chan struct{}, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{}, 1)
	l.queries[c] = of
	if l.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		l.stop = stop
		l.running.Go(func() { l.run(ctx) })
	}
	return c, func() { l.leave(c) }
}

func (l *listener) leave(c chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.queries, c)
	if len(l.queries) == 0 {
		l.stop()
		l.stop = nil
	}
}

// wait waits for the end of what ran, after the last query has left.
func (l *listener) wait() { l.running.Wait() }

func (l *listener) run(ctx context.Context) {
	for ctx.Err() == nil {
		l.listen(ctx)
		sleep(ctx, listenAgain)
	}
}

// listen listens until the connection or the context ends.
func (l *listener) listen(ctx context.Context) {
	conn, err := pgx.ConnectConfig(ctx, l.config.Copy())
	if err != nil {
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenAgain)
		defer cancel()
		_ = conn.Close(ctx) // it is of no use any more
	}()
	if _, err := conn.Exec(ctx, l.sql); err != nil {
		return
	}
	l.tell(ofEvents) // what came before is not announced
	l.tell(ofReminders)
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		l.tell(topic(n.Payload))
	}
}

func (l *listener) tell(of topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, wants := range l.queries {
		if wants != of {
			continue
		}
		select {
		case c <- struct{}{}:
		default: // it has news already
		}
	}
}
