// Package random draws what happens in a simulated world.
//
// Each concern draws from a generator of its own, of [Streams]. A change in one concern, a message
// more or a checker that draws, leaves the others as they were, and a seed keeps its story.
package random
