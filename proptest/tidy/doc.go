// Package tidy holds the rules of this source tree as a test, so that they need not be remembered.
//
// It parses the whole module with go/parser, type-checks the pure packages, and reports every place
// that breaks a rule, as file:line, rule and reason. `go test ./proptest/tidy` is the only thing to
// run.
//
// The nouns: a [Module] is the parsed tree; a [Rule] has a name, a reason and a check; a [Finding]
// is one place that breaks it.
//
// The rules are those that are cheap to see from the source:
//
//   - ranks: imports point down (the table in ranks.go, a reason per row), and those of pure
//     packages to pure ones;
//   - purity: a pure package starts nothing, waits for nothing, reads no clock and draws no global
//     random number;
//   - behind: a library that has a package of this tree in front of it is imported there only;
//   - maporder: in a pure package no iteration over a map without a comment that says why its order
//     cannot matter;
//   - docs: every exported name is explained, by a comment that begins with it; every package has
//     its story in doc.go and nowhere else;
//   - examples: every type that a user names is shown by an Example that runs; surface.go has the
//     packages, and the exceptions with their reasons;
//   - names: no util, common or helpers;
//   - size: files and functions stay short enough to be read at a sitting, the median ones much
//     shorter;
//   - spread: a package has few files and lines, a type few methods and fields; those with more are
//     listed in spread.go with what they have reached, and do not grow;
//   - width: lines of code have at most 120 columns, except in packages that are not there yet;
//   - tests: no sleeping, and no skipped test without a comment that says what a machine may lack;
//     a package that starts goroutines looks for leaks;
//   - toplevel: the fixed list of names in the root of the module;
//   - language: comments and texts use no refused word, comments are not wide, and a term has one
//     meaning;
//   - words: nothing in the tree speaks of the machine or the room it was written in.
//
// What it does not see: dependencies that break purity from within (a library with a lock inside is
// allowed by name), and order that leaks through a comparison of pointers. The simulator's trace
// hash is the check for those.
package tidy
