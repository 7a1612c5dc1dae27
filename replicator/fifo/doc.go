// Package fifo is a queue in a slice that it uses again: what goes as fast as it comes takes no new
// memory. It is for queues that live as long as their machine: a [Queue] gives back the room of a
// burst when it becomes empty, and clears what it lets go of. It is not safe for use by several
// goroutines.
package fifo
