// Package dots has the names of events, and sets of them.
//
// # Nouns
//
// An [Origin] is one incarnation of a process. A [Dot] names an event: the n-th of an origin. A
// [Clock] is a set of dots. It has a [Row] for each origin of which it holds something: a base up to
// which nothing is missing, and runs above it.
//
// A message names each origin once, and then by its number in an [OriginTable].
//
// # Origins that are over
//
// Incarnations end, and a set that had a row for each of them would grow with the age of a cluster.
// [Clock.Close] enters all the dots of a run of origins, those that were never used too: whatever
// event of them exists, the set has it. Such a run is one row, however many origins lie in it. A
// closed origin costs nothing when its neighbours are closed, so a clock is as large as the number
// of origins that are not. All operations know runs of origins: a clock stays a plain set, and two
// clocks with the same dots are equal and have one encoding.
//
// Close enters what was perhaps never applied. It is right only where no event of these origins can
// come any more that is not here: package replicator says when that is so.
//
// A store numbers the items that were moved into it above [SeqMax] (see [Dot.Moved]). A move to come
// may bring items of an origin that is over. So a run is closed for the moves that have been, and a
// later one opens a row of its own again.
//
// # What is not
//
// The dots of a run of origins cannot be counted in 64 bits: [Clock.Len] stops at the largest
// number, and [Clock.Split] cuts no such run. [Clock.Parted] takes the runs apart from the rest.
package dots
