// Package seats sells the seats of shows. Each show is an entity. An [Office] outside of the cluster keeps the
// guest of each seat. A handler looks there whether a seat is free, and then gives it to its guest. A node may
// stand still between these two calls until another node has the show, and gives the seat to another guest. So
// the handlers show the fencing token of their show, and the office refuses a lower one than it has seen.
//
//	go test ./examples/seats/...
//
// show_test.go tests the shows in the simulated cluster, and package drill on real nodes in one process.
// found_test.go runs the simulation with an office that does not look at tokens, and sees that a seat is sold
// twice.
package seats
