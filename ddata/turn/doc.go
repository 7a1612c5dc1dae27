// Package turn has the functions of callers that wait for another goroutine to call them, and that a
// caller which goes takes back.
package turn
