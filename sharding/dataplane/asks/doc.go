// Package asks keeps the questions of one region: those that wait for an answer, and those that its
// handlers still owe one.
//
// # Nouns
//
//   - A Call is one question that waits. Its id travels with it, and comes back with the answer.
//   - The Table finds the Call of an id, and ends it: by the answer, by time, or by the loss of the
//     node that was asked.
//   - A Sink takes the answer of a Call.
//   - A Duty is a question that a handler has taken and will answer later. Duties are bounded, and a
//     node that leaves waits for them.
//
// # Guarantees
//
//   - A question ends once, by one of its ends, and its asker sees which.
//   - An answer that comes late reaches no other question.
//   - A question without a deadline ends at most 50 ms after the region's time-out.
//
// # Not guaranteed
//
//   - Nothing here sends anything. Whether a question was handled is unknown when no answer comes.
//
// The package carries no promise of compatibility: users see it through package sharding.
package asks
