package tidy

import (
	"slices"
	"strings"
)

// Rule is one thing that the tree promises about its own source.
type Rule struct {
	Name  string
	Why   string
	Check func(*Module) []Finding
}

// Rules are all rules, in the order in which they are reported.
func Rules() []Rule {
	return []Rule{
		{"ranks", "a lower package that knows a higher one cannot be understood or tested alone", checkRanks},
		{"purity", "a machine that waits, reads a clock or draws global randomness cannot be replayed", checkPurity},
		{"scheduled", "what starts goroutines and reads the clock by itself cannot run in virtual time",
			checkScheduled},
		{"behind", "a library that many packages set up is set up in many ways", checkBehind},
		{"maporder", "the order of a map must never reach an effect, an encoding, a digest or a String", checkMapOrder},
		{"docs", "an exported name without a comment has a contract that only its author knows", checkDocs},
		{"examples", "a type is learned from a program that uses it", checkExamples},
		{"names", "util, common and helpers are where a subject was not found", checkNames},
		{"size", "what does not fit on a few screens is not read before it is changed", checkSize},
		{"spread", "what has many parts has several subjects, and is never read from top to bottom", checkSpread},
		{"width", "what does not fit beside another window is read in two halves", checkWidth},
		{"tests", "a sleeping test is slow when it passes and wrong when it fails; a skipped one proves nothing; " +
			"a leak fails another test", checkTests},
		{"toplevel", "the root of the module is fixed", checkTopLevel},
		{"language", "a comment is read by people whose second language is English, and a word has one meaning",
			checkLanguage},
		{"words", "the tree must read the same wherever it is checked out", checkWords},
	}
}

// sorted orders findings by file and line, so that a report never depends on how it was gathered.
func sorted(fs []Finding) []Finding {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	return fs
}
