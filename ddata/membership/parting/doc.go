// Package parting keeps a node that ends until the nodes that would wait for it know what it knows.
//
//	stopped ──all others have stopped──► parting ──all others know that, or cannot──► (ended)
//	   └──a view without it──────────────► parting ──all that this node owes it to know it──► (ended)
//
// Debts are the nodes that have to hear from this one what was decided. At first only the node that
// decides a view knows that it was decided. A Parting is the last part of the life of a node. Advance
// says what it tells to which node at a moment, and whether it still waits.
//
// It sends nothing, and does not say how a node ends: the membership does.
package parting
