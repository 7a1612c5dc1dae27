package format

import (
	"errors"
	"fmt"
	"strconv"
)

// Level stands for the form that every message and every row has. 0 stands for none.
type Level uint16

// The levels. What is said of one is what it brought.
const (
	// Initial has the formats of the first release.
	Initial Level = 1 + iota
	// Headers: messages and deliveries of entities have headers, if they belong to a trace. Nodes that run a type
	// tell each other how homes are chosen, and where entities keep their state. Views have patterns of durable
	// keys that are about one role only. Stores of reminders have a record of how these lie in shards.
	Headers
	// Crashes: members tell the voters whose process they find ended.
	Crashes
	// Ages: views say which incarnations are over, and members tell of what they have of these. Records of the
	// last view say for which of these a disk is good.
	Ages
	// Changes: views are told to the members of their parents by what has changed.
	Changes
	end
)

// RolePatterns is the level from which on views have patterns of durable keys of single roles.
const RolePatterns = Headers

// Oldest and Newest bound the levels that this build speaks.
const (
	Oldest = Initial
	Newest = end - 1
)

// ErrUnspoken says that something has a format level that a node does not speak. Usual cause: an
// older build in a cluster, or on a directory, that has gone on to a newer level.
var ErrUnspoken = errors.New("format: the level is not spoken")

// Range is the levels that a node speaks, both ends included.
type Range struct {
	_        struct{} `cbor:",toarray"`
	Min, Max Level
}

// rehearsed is the newest level of a build that plays a later one: the linker sets it for the tests of
// upgrades (-X). A release leaves it empty.
var rehearsed string

// Build returns the range of this build.
func Build() Range {
	newest, err := strconv.ParseUint(rehearsed, 10, 16)
	if err != nil {
		newest = uint64(Newest)
	}
	return Range{Min: Oldest, Max: Level(newest)}
}

// Contains reports whether the level is within the range.
func (r Range) Contains(l Level) bool { return r.Min <= l && l <= r.Max }

// Common returns the highest level that both speak; 0 if there is none.
func Common(a, b Range) Level {
	if l := min(a.Max, b.Max); a.Contains(l) && b.Contains(l) {
		return l
	}
	return 0
}

// Check returns an error if the range is none.
func (r Range) Check() error {
	if r.Min < Initial || r.Max < r.Min {
		return fmt.Errorf("%d to %d is no range of format levels", r.Min, r.Max)
	}
	return nil
}

// Speaks returns nil if the range contains the level of something; else an ErrUnspoken that names
// both.
func (r Range) Speaks(what string, l Level) error {
	if r.Contains(l) {
		return nil
	}
	return fmt.Errorf("%w: %s has format level %d, this node speaks %v", ErrUnspoken, what, l, r)
}

// String prints both ends.
func (r Range) String() string {
	if r.Min == r.Max {
		return fmt.Sprintf("level %d", r.Min)
	}
	return fmt.Sprintf("levels %d to %d", r.Min, r.Max)
}
