// Package repair brings what a replica lacks and no log covers from one donor to one puller, at the
// cost of what differs. It knows stores and clocks, and no view, no message and no timer: package
// replicator carries out what it asks of its [Host] and its [Line].
//
// # Nouns
//
// A [Puller] repairs one space of this replica. It has at most one repair at a time, from one donor,
// with the help of other replicas. Both sides pin one moment of their store. What has come is
// staged. When it adds up to the donor's digest, the Puller returns it as [Staged], to be taken at
// one moment.
//
// A [Donation] is one repair from the donor's side. [Donors] are all of them. A donation remembers
// nothing of what was sent: a question that is repeated is answered again.
//
// # How it works
//
// The dots that only the donor's clock has are named, and their items fetched in parts (fetch.go).
// Of the dots that both clocks have, some are alive on one side only. A rateless sketch finds them,
// with one key, then with another (sketch.go), or the comparison of sums of runs of dots
// (ranges.go). The digest decides (digest.go). If it does not fit, what helpers brought is fetched
// again from the donor; after that come the other ways to the difference, and the whole state.
//
// # Guarantees
//
//   - Nothing is taken that does not add up (rule R5 of package replicator).
//   - One call walks over a bounded number of items. Deadline is now when there is more to do.
//   - A donor that refuses, leaves, falls silent or makes no sense is replaced, and the items that
//     have come are kept. Without another donor the repair breaks.
//   - A peer cannot keep a puller asking, or a donor working, without end.
package repair
