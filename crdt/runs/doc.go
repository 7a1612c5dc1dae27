// Package runs keeps where the events of one origin stand in a log. Events that follow each other in the
// log and by their numbers are a [Run]: a log of one writer has a single one, however long it is. It is not
// safe for use by several goroutines.
package runs
