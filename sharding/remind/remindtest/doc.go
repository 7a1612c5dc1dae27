// Package remindtest holds an implementation of remind.Store to its laws. What a test can not see
// from outside, that what was answered is there after a stop of everything, each implementation
// proves for itself.
package remindtest
