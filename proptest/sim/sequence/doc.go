// Package sequence judges the order in which messages are handled.
//
// # Nouns
//
//   - A Stream is the messages of one sender to one entity. They are numbered as they were sent.
//   - A Shard is the entities that move together.
//   - A Region is what the package knows of one region: which shards it hosts, and where it sends.
//   - A Cause is one of the events after which package sharding promises no order. It happens to a
//     shard at an instant.
//   - A Judge hears of every step of every region and of every message that is handled.
//
// # What it judges
//
// A message must not be handled after a later one of its Stream. That is excused if a cause happened
// to the shard since the message was sent. After a lost lease and a close by force there is no fence,
// so that some regions may go on sending to the home before, and some that were paused may begin to:
// what is sent until none does any more is excused, too. Nothing else is: a planned move keeps the
// order.
//
// # Not judged
//
//   - Messages that are missing, or are handled twice: the caller follows each message to its end.
package sequence
