// Package settlement settles views: it finds when a majority of the installed view contains all
// that was acknowledged before it.
//
// Until then a quorum means a quorum of every view that is not settled. [Settlement] keeps those
// views and says whose quorums count. Members report what they had acknowledged when they installed
// the view. What a majority of each older view reported is the goal. The view is settled when a
// majority of it contains the goal. This is a lasting fact, and any member may tell it (R13, R14,
// R15).
package settlement
