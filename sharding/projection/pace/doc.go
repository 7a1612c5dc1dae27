// Package pace decides when a part of a projection saves how far it has come, and how long it rests
// after a failure. It also says which slices a part has, and which parts a worker has.
//
// It is pure: the caller brings the time, and does what is due.
package pace
