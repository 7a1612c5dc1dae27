package ddata

import (
	"errors"
	"sync"

	"github.com/coterie-go/coterie/crdt"
)

// turn is an update's function while it waits for its turn on the replica's goroutine. Once its caller has gone, it does not run any more: what the
// function refers to is the caller's again.
type turn struct {
	mu   sync.Mutex
	gone bool
	fn   func(*crdt.Tx) error
}

// errGone is what an update comes to whose caller has gone; nobody sees it.
var errGone = errors.New("ddata: the caller has gone")

func (t *turn) run(tx *crdt.Tx) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return errGone
	}
	t.gone = true // once
	return t.fn(tx)
}

// leave takes the function back, and says whether it has not run: then nothing happened. It waits for one that is running.
func (t *turn) leave() (in bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	in, t.gone = !t.gone, true
	return in
}
