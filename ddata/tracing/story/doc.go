// Package story has what happened on the nodes of a cluster as records, for people that look for the cause
// of a failure. The simulator and the recorder of a live node make them, and package viewer shows them.
//
//	log := story.NewLog(0)
//	log.Record(story.Record{Time: 1e9, Node: "n1", Kind: story.Sent, Peer: "n2", Message: "7", Text: "hello"})
//	err := story.Write(file, log.Records())
//
// # Nouns
//
//   - A Record is one thing that happened at one moment, on a node or between nodes.
//   - A Kind says what it was: a message was sent, received or lost, a fault came, a node started …
//   - A Log collects records in memory, up to a number.
//   - A file of records has one JSON object a line. Read and Write are its form.
//
// # Guarantees
//
//   - Read takes bytes of a stranger. It holds one line at a time, of LineMax bytes at most, and allocates no
//     more than some bytes for each that is there.
//   - Write and Append keep a line below LineMax: they cut what is too long, and say so.
//   - Merge keeps the order of each story, and puts no message's arrival before its departure.
//   - A Log that is full gives up steps and messages before faults, and counts them.
//
// # Not guaranteed
//
//   - Merge trusts the clocks of nodes: what two nodes did at nearly the same time, and no message connects,
//     may stand in the wrong order.
package story
