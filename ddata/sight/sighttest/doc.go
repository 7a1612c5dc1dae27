// Package sighttest is a sight.Meter for tests, and compares what is reported to it with the table of metrics in a package's comment.
package sighttest
