// Package frame is the form of what a connection of the transport carries after its handshake, and
// the memory in which it is read, cut and put together. It knows no node, no connection and no lane.
//
// # Nouns
//
// A frame is a length, the channel that it is for, and a payload. A batch is whole frames, one
// behind the other; a connection is written batch by batch, and read in whatever portions come.
//
// A message is what a sender hands over and a handler gets. A message of at most one frame's
// payload is that frame. A larger one travels in parts: frames that follow each other without
// another one between them (parts.go). To the code that keeps, counts and resends frames, parts are
// frames.
//
// A Buffer is the memory of one reader. An Assembly puts the parts of one connection together. A
// Room bounds what the assemblies of all connections of one peer hold. A Backlog is what waits for one
// writer, and Spares are buffers for its next batches.
//
// # Guarantees
//
// No frame costs memory before its bytes come: a Buffer and an Assembly hold at most twice what has
// arrived, whatever a length claims. What is no frame is reported as ErrBroken, and nothing panics.
//
// # What it does not do
//
// It does no I/O, and has no lock except that of a Room.
//
// The package carries no promise of compatibility: transport builds on it.
package frame
