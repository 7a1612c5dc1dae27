// Package eventstest is a events.Meter for tests, and compares what is reported to it with the
// table of metrics of a package.
package eventstest
