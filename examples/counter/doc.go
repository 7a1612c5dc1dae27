// Command counter keeps counters as event-sourced entities, as in the documents of Akka and Pekko: a
// counter stores an event for each change, and has its count back wherever it starts. counter.go is
// all that defines it. The program counts a little more with each start, on one directory:
//
//	go run ./examples/counter counter-data
package main
