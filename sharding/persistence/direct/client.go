package direct

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Config says which stores a Client calls, and how. A zero field stands for its default.
type Config struct {
	Journal   persistence.Journal   // nil: no call is about events
	Snapshots persistence.Snapshots // nil: no call is about snapshots
	States    persistence.States    // nil: no call is about states

	WriteTimeout time.Duration // of one attempt of a write; 5 s
	ReadTimeout  time.Duration // of a read, which is as long as the history is; 1 min
	Attempts     int           // of a write, at most, until it has failed; 3
	CallsMax     int           // at the stores at a time; 64
}

func (c Config) withDefaults() Config {
	config.Default(&c.WriteTimeout, 5*time.Second)
	config.Default(&c.ReadTimeout, time.Minute)
	config.Default(&c.Attempts, 3)
	config.Default(&c.CallsMax, 64)
	return c
}

// Pauses between two attempts.
const (
	pauseFirst = 50 * time.Millisecond
	pauseMost  = time.Second
)

// Client calls the stores for the entities of a type. Its methods never wait. done is called once,
// on another goroutine.
type Client struct {
	cfg    Config
	slots  chan struct{} // one for each call at the stores
	fences fences
}

// New makes a Client.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	return &Client{cfg: cfg, slots: make(chan struct{}, cfg.CallsMax)}
}

// request is a call of one of the stores for a hosting.
type request struct {
	hosting persistence.Hosting
	store   persistence.Fencer
	kind    kind
	writes  bool // else it reads, and is not repeated
	do      func(context.Context) error
}

// kind is which of the stores it is.
type kind uint8

const (
	journal kind = iota
	snapshots
	states
	kinds
)

// run makes the call beside its caller.
func (k *Client) run(r request, done func(error)) {
	go func() {
		k.slots <- struct{}{}
		err := k.attempts(r)
		<-k.slots
		done(err)
	}()
}

// attempts repeats a call until it succeeds, is refused, or has failed too often.
func (k *Client) attempts(r request) error {
	for i := 1; ; i++ {
		err := k.attempt(r)
		if err == nil || !r.writes || i == k.cfg.Attempts || refused(err) {
			return err
		}
		<-time.After(timer.Backoff(pauseFirst, pauseMost, i-1))
	}
}

// attempt makes the call once. Before the first one of a hosting it tells the store of that.
func (k *Client) attempt(r request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the store: %w", failure.OfRecovered(p))
		}
	}()
	limit := k.cfg.ReadTimeout
	if r.writes {
		limit = k.cfg.WriteTimeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := k.fences.of(r.hosting).tell(ctx, r.kind, r.store); err != nil {
		return err
	}
	return r.do(ctx)
}
