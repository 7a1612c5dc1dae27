// Package settings makes the reference of all settings, ddata/doc/settings.md, of the source.
//
// A [Group] is a struct of settings that a service can set. Read takes what is said of each field
// from its comment, its type from the source, and the settings of Pekko and Akka from the tables
// beside the code. What can be computed is: defaults by applying them, bounds by asking Validate.
// The page is written by
//
//	go run ./proptest/settings/cmd/settings
//
// The tests say when the page is stale, when a comment names another default than the code has, and
// when a struct that looks like settings is in no group.
//
// A comment of a field is read for these words: a sentence that begins with "Default" has the
// default, and "Required" or "Optional" stand for one. "1 to 64 bytes", "at least" and "at most" are
// bounds of what is no number. The rest of the comment is the meaning, and what more or less costs.
package settings
