// Command counter keeps counters as event-sourced entities, as in the documents of Akka and Pekko: a
// counter stores an event for each change, and has its count back wherever it starts. counter.go is
// all that defines it. The program counts a little more with each start, on one directory
// (counter-data, if no other is named):
//
//	go run ./examples/counter
//	go run ./examples/counter -store ddata
//
// The first has one node, whose events are in a file. The second has three nodes, which keep the
// events in their replicated data. Each start finds the counts that the last one has left, though
// the whole cluster was stopped between. The stores do not know each other's counts.
package main
