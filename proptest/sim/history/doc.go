// Package history is what the clients of simulated data know: what they asked for, and what they
// were told.
//
// It is the independent side of every judgement on data. It knows sets, counters and keys that go
// away, and nothing of items, clocks or messages. A [History] has a book for each key: a [Set] of
// unique elements, each added once and removed at most once, a [Sum], or a [Final], a set that is
// permanently deleted at some time. An [Entry] is the life of one element.
//
// A read of a majority must find what a majority had acknowledged before it began, and must not find
// what was removed before. The books check that, and more of linearizable reads. What they find wrong
// goes to a [Complain].
//
// An update is a [Fact]: it has happened at a replica, with a first event. A fact may be lost when
// all that knew of it are gone. What became of them is a [Fate]; the checker of data decides which
// facts a fate excuses, and [Excuses] counts them. An excused fact is not demanded any more.
package history
