package entities

import "github.com/coterie-go/coterie/sharding/dataplane/mailbox"

// Accept puts an envelope into the mailbox and gets it a worker. size is what it counts of the
// bounds in bytes; 0: nothing, it is of this node.
func (e *Entity) Accept(env mailbox.Envelope, size uint32) mailbox.Verdict {
	r := e.Shard.runtime
	if size > 0 {
		if v := r.Held.Reserve(&e.Weight, size, r.set.MailboxBytes); v != mailbox.Accepted {
			return v
		}
	}
	v, schedule := e.Push(env, size, r.set.MailboxMax)
	if v != mailbox.Accepted {
		e.released(size)
	}
	if schedule {
		r.Pool.Submit(e)
	}
	return v
}

// AcceptAll is Accept of the messages of a chain. What is left in the chain was not taken: the verdict says why
// of the first one. Accepted: all were.
func (e *Entity) AcceptAll(b *mailbox.Batch, c *mailbox.Chain) mailbox.Verdict {
	r := e.Shard.runtime
	if !r.Held.ReserveAll(&e.Weight, c.Bytes(), r.set.MailboxBytes) { // but some may have room
		for !c.IsEmpty() {
			env, size, _ := b.First(c)
			if v := e.Accept(env, size); v != mailbox.Accepted {
				return v
			}
			b.Drop(c)
		}
		return mailbox.Accepted
	}
	v, schedule := e.PushAll(b, c, r.set.MailboxMax)
	e.released(c.Bytes())
	if schedule {
		r.Pool.Submit(e)
	}
	return v
}

// Room returns a channel that is closed when room may have come up in the mailbox; nil: there is some.
func (e *Entity) Room() <-chan struct{} { return e.RoomAfter(e.Shard.runtime.set.MailboxMax) }

// releaseStep is how many bytes a worker has handled before it gives that room back within a turn.
const releaseStep = 64 << 10

// released gives the room back.
func (e *Entity) released(size uint32) {
	if size > 0 {
		e.Shard.runtime.Held.Free(&e.Weight, size)
	}
}
