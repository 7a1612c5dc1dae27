// Package report holds what the members of a view have said of themselves.
//
// Own is what this node says of itself: that it leaves, that it has stopped, how far its replicators
// are. Heartbeats carry it to the other members as Flags and numbers. A Table keeps what each other
// member of the installed view has said, and answers for this node too.
//
// A Table only remembers. It knows neither messages nor which member is heard, and what follows from
// a report the membership decides. Most of what a member says is for good: no later report takes
// back that it leaves, has stopped or parts.
package report
