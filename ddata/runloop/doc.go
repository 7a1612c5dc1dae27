// Package runloop runs one pure machine on one goroutine.
//
// A machine is single-threaded: it takes an input, changes its state and fills a list of effects;
// it has no timer, only a deadline. A Loop is what stands around it. It has an inbox that any
// goroutine may post to. One goroutine takes everything that waits, steps the machine input by
// input and carries out its effects. One timer is armed for the machine's deadline.
//
// A Progress is for the callers beside it: it wakes those that wait for a state which a lock
// guards.
//
// Guarantees: inputs posted by one goroutine are stepped in the order of their posting; no two
// steps overlap; a Loop that was stopped steps nothing any more, and Stop returns only when its
// goroutine has ended. A step that panics ends its Loop, and the process unless WhenBroken was
// called.
//
// Not guaranteed: that an input which was posted is ever stepped: a Loop that stops drops what
// still waits. A caller that needs an answer must watch for the stop too.
package runloop
