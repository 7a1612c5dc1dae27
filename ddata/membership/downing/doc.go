// Package downing says which part of a cluster goes on when members cannot hear each other.
//
// A Strategy is a rule: which sets of voters may decide the next view. Any two quorums of the same
// voters intersect, so at most one side of a partition goes on. Reach tells which members this node
// hears. What a strategy allows and which member is dropped, the membership decides: this package
// changes no view.
package downing
