package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	announcePause = 20 * time.Millisecond // between two announcements
	announceMax   = 5 * time.Second       // for one
)

// topic is what an announcement is about.
type topic string

const (
	ofEvents    topic = "events"
	ofReminders topic = "reminders"
)

// announcer tells the listeners of all processes that something of a topic was stored, some time later. A
// transaction of its own does it: those that notify commit one after the other, on the whole server.
// An announcement that fails is left out, because listeners poll, too.
type announcer struct {
	pool    *pgxpool.Pool
	sql     string
	topic   topic
	stored  chan struct{} // holds one element
	stop    context.CancelFunc
	running sync.WaitGroup
}

func newAnnouncer(pool *pgxpool.Pool, sql string, of topic) *announcer {
	ctx, stop := context.WithCancel(context.Background())
	a := &announcer{pool: pool, sql: sql, topic: of, stored: make(chan struct{}, 1), stop: stop}
	a.running.Go(func() { a.run(ctx) })
	return a
}

// announce has an announcement made. It does not wait.
func (a *announcer) announce() {
	select {
	case a.stored <- struct{}{}:
	default: // one will be made
	}
}

func (a *announcer) close() {
	a.stop()
	a.running.Wait()
}

func (a *announcer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.stored:
		}
		a.send(ctx)
		sleep(ctx, announcePause)
	}
}

func (a *announcer) send(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, announceMax)
	defer cancel()
	_, _ = a.pool.Exec(ctx, a.sql, string(a.topic)) // see above
}
