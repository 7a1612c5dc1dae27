// Package outside makes the calls of stores that stand outside of a region: a user's store of remembered
// ids, or one of reminders. So many calls are under way at a time, and each has a time limit. What a
// store panics with is an error.
//
// The package carries no promise of compatibility: users see it through package sharding.
package outside
