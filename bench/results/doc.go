// Package results keeps what benches print, of one run or of several.
//
// A bench prints a line for each case: bench=NAME case=NAME, and figures as name=value, with the unit in the name.
// Collect runs a program that prints such lines some times, each in a process of its own, so that no run finds the
// memory of the one before. The rounds come one after the other, so that what else the machine does meets all cases.
//
// A File is written as JSON, for programs, and as text in the format of Go's benchmarks, which benchstat compares:
// each run of a case is a line there, and each figure a unit.
//
// # Not guaranteed
//
// A figure that is no number is not kept. Which of two values is the better one is nowhere said: of a rate it is the
// higher one, of a time the lower one.
package results
