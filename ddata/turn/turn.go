package turn

import (
	"errors"
	"fmt"
	"sync"

	"github.com/coterie-go/coterie/crdt"
)

// Turn is an update's function while it waits for its turn on the replica's goroutine. Once its
// caller has gone, it does not run any more: what the function refers to is the caller's again.
type Turn struct {
	mu sync.Mutex
	fn func(*crdt.Tx) error // nil: there is none, it has had its turn, or its caller has gone
}

// Sight is the same of the function that sees the state with which an update is answered.
type Sight struct {
	mu   sync.Mutex
	look func(crdt.Reader)
}

// Show makes look the one that waits. It waits for one that is running.
func (s *Sight) Show(look func(crdt.Reader)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = look
}

// See shows it the state. It does nothing if none waits.
func (s *Sight) See(r crdt.Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look != nil {
		s.look(r)
	}
}

// errGone is the result of an update whose caller has gone; no caller sees it.
var errGone = errors.New("ddata: the caller has gone")

// Set makes fn the one that waits, and returns which did. It waits for one that is running.
func (t *Turn) Set(fn func(*crdt.Tx) error) (was func(*crdt.Tx) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, t.fn = t.fn, fn
	return was
}

// Run gives the function its turn, once.
func (t *Turn) Run(tx *crdt.Tx) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn := t.fn
	if fn == nil {
		return errGone
	}
	t.fn = nil // once
	return fn(tx)
}

// Leave takes the function back from an operation whose caller goes, and says so of one that had
// not run: then nothing happened.
func (t *Turn) Leave(err error) error {
	if t.Set(nil) == nil {
		return err
	}
	return fmt.Errorf("%w before its turn came: nothing happened", err)
}
