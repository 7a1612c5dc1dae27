// Package recorder has a live node tell its story to a file, as records of package story: what its callers ask
// for, the messages of entities as they leave and arrive, and its events.
//
//	out, err := recorder.Create("n1.jsonl", 64<<20)
//	rec := recorder.New(recorder.Config{Node: "n1", Out: out})
//	node, err := ddata.Start(ctx, ddata.Config{Tracer: rec, OnEvent: rec.Event, …})
//	carts, err := sharding.Start(node, sharding.EntityType[Command]{OnEvent: rec.TypeEvent, …})
//	…
//	err = errors.Join(node.Leave(ctx), rec.Close(), out.Close())
//
// The command ddata/tracing/cmd/traceview makes one page of the files of all nodes.
//
// # Nouns
//
//   - A Recorder is the Tracer and the Listener of one node. It writes by one goroutine of its own.
//   - A File is a pair of files of a bounded size that keep what was written last.
//
// # Which span becomes what
//
//	tell, ask, deliver         a message is sent, if all members read headers (format.Headers)
//	receive, answer, confirm   the message is received
//	the end of an answer       the answer is sent; the end of its ask: it is received
//	others                     a step, with the time that it took, when it ends
//	an error                   a fault, when the span ends
//
// An event is a note, or a fault if it is a warning or an error in the log. One of debug is a step.
//
// # Guarantees
//
//   - The node never waits: a record that finds no room is dropped. The story says how many were, where they
//     are missing.
//   - What is written at once is whole lines, so that both files of a File can be read by themselves.
//
// # Not guaranteed
//
//   - Messages between replicas, those of the membership and those of singletons are no spans: the story has
//     what they lead to.
//   - An answer that a handler leaves to a sharding.Responder is shown as sent when the handler ends.
//   - A node has one Tracer. Nodes that trace otherwise read no headers of a Recorder, and count them.
package recorder
