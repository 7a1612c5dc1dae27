// Package ring is a queue in a circular buffer: a window slides over what comes and goes without
// copying it. A [Ring] gives back the room of a burst when it is mostly empty, and clears what it
// lets go of. It is not safe for use by several goroutines.
package ring
