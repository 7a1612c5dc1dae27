package mailbox

import "sync/atomic"

// Drain is one attempt to let the mailboxes of a shard run empty. It ends with a call of done, or
// it is taken back, and then another may begin while a worker is still about to say that its
// mailbox rests: each says so to the drain that asked.
type Drain struct {
	busy atomic.Int64 // entities that still have to rest, plus one while they are counted
	done func()
}

// Settled is called for each entity that was busy when the shard was sealed and rests now. d is nil
// if no caller asked.
func (d *Drain) Settled() {
	if d != nil && d.busy.Add(-1) == 0 {
		d.done()
	}
}

// NewDrain makes a drain that waits for no mailbox yet. It does not end before one more Settled than
// those of the mailboxes: the caller's, when it has sealed them all.
func NewDrain(done func()) *Drain {
	d := &Drain{done: done}
	d.busy.Store(1)
	return d
}

// Seal seals a mailbox and waits for it. schedule is true when the caller has to put the entity on the
// run queue.
func (d *Drain) Seal(m *Mailbox) (schedule bool) {
	d.busy.Add(1)
	rests, schedule := m.seal(d)
	if rests {
		d.busy.Add(-1)
	}
	return schedule
}
