// Package nextview composes the view that a node would propose after the installed one.
//
// Compose takes everything that is due into one Plan: members that have been unreachable for long,
// that an operator downed or that have stopped go; joiners come in as learners; learners that have
// caught up come up; members that ask leave; members that offer services get into the lines of
// these; the format level rises to what all members speak. Repeat changes nothing but the epoch.
//
// It is a computation over a Scene: the installed view, what the members have reported, which of
// them are heard, what operators have said, and the nodes that ask to join. It changes nothing and
// remembers nothing. Whether and when a Plan is proposed, and what it takes to decide it, package
// membership says; the rules G and V are there.
package nextview
