// Package trace keeps the story of a simulated world.
//
// A [Trace] folds everything that happens into one [Hash], and tells it to a [Watcher] if there is one: as
// records of package story. Two runs of a seed must end with the same hash, watched or not. Where they do not,
// something read a clock, the order of a map, or a global generator.
//
// [Printer] and [Tail] are watchers that print lines; a story.Log collects for a page of package viewer.
package trace
