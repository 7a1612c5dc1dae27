package handlers

import "github.com/coterie-go/coterie/sharding"

// Message is what is sent to entities: its number in the world.
type Message interface{ Number() uint32 }

// Context is that of their handlers.
type Context = sharding.Context[Message]

// Note is a message that is told.
type Note uint32

// Query is a message that is asked, and answered with its number.
type Query uint32

// Number implements Message.
func (n Note) Number() uint32 { return uint32(n) }

// Number implements Message.
func (q Query) Number() uint32 { return uint32(q) }

// Reply implements sharding.Request.
func (Query) Reply(Message, uint32) {}

var _ sharding.Request[Message, uint32] = Query(0)
