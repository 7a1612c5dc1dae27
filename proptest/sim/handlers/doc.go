// Package handlers draws what the handlers of users' entities do in a simulated world.
//
// # Nouns
//
//   - A Message is what entities are sent: a Note is told, a Query is asked.
//   - A handler takes Time, and may End as no handler should.
//   - A Pause is a wait for a result, by Context.Await.
//
// # Guarantees
//
// One generator and one world's options give one sequence of times, ends and pauses. An option that is
// zero draws nothing, so that a world without pauses is the one that it was before there were any.
package handlers
