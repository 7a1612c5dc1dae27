// Package iblt finds in what two sets of 64-bit numbers differ, from sketches whose size goes with
// the difference and not with the sets. It is pure: no goroutine, lock, clock, randomness or input
// and output.
//
// # Nouns
//
// A Sketch is a row of Cells. Each number of the set is in the first cell and in some of the later
// ones, chosen by a keyed hash of it, the rarer the further behind: in the cell at index j with a
// probability of about 1.57/(j+2). A cell is the exclusive or of the numbers that are in it, and of
// their checks. Adding a number and taking it away are the same thing, and so is the comparison of
// two sketches: the exclusive or of their cells is the sketch of what is in one set only. The
// Decoder finds a cell that holds a single number, for the check tells it, takes the number out of
// all its cells, which leaves others with a single one, and so on. The row has no end: a peer that
// cannot decode asks for more of it, and what was sent before is not lost.
//
// # What it costs
//
// About 1.4 cells of 12 bytes per difference for hundreds and more, about 2 for a few; a change of
// the set touches some 10 cells of a sketch of 1,024, and 15 of one of 16,384. Decoding is linear
// in the difference.
//
// # What is not guaranteed
//
// A sketch is compared by hashes. A wrong number can come out with a probability of less than 2^-32
// per number, and a malicious peer can make cells from which anything comes out. The decoder stops
// in any case, and Bad reports when its input cannot be a sketch. Otherwise the caller must compare
// what it would get with a digest before it believes it.
//
// The idea of a row of cells with falling density is that of rateless invertible Bloom lookup
// tables (Yang, Gilad, Alizadeh, Practical Rateless Set Reconciliation, SIGCOMM 2024). Here the row
// is divided into blocks that grow by three eighths, and a number is in exactly one cell of every
// second block, by the bits of its hash. That costs three cells in a hundred more than independent
// choices, and a third of the time; it also needs no floating point, which rounds differently on
// different machines.
package iblt
