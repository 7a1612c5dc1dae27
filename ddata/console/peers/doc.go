// Package peers carries the questions of a console to the other nodes, and their answers back, over a
// channel of the cluster.
//
// # Nouns
//
//   - A Line is one node's end of the channel: it asks, and it answers.
//   - A question and its answer are bytes to this package.
//
// # Guarantees
//
// Everything travels in the bulk lane, behind whose frames neither heartbeats nor messages of entities
// wait. A node answers AnswersMax questions at one time, and says to others that it is busy. Answers
// are at most BytesMax long. An answer is only taken from the node that was asked. A node that has no
// console says so at once.
//
// # Not guaranteed
//
// Frames of this lane are lost when its queue is full: the question is not answered then.
package peers
