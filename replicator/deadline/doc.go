// Package deadline orders what waits by the time at which the waiting ends.
//
// A [Queue] holds things that have an [Entry] each, usually embedded. Most of them come in the order
// of their deadlines, and go in it: they stand in a line, and cost no search. One that has ended is
// passed over when its turn comes. One with an earlier deadline than the last of the line goes to a
// heap.
package deadline
