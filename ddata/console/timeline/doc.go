// Package timeline keeps the last events of a node for people: a ring that forgets the oldest. Its
// Tell is a listener of the node's events, and never waits.
package timeline
