// Package remindtest holds an implementation of remind.Store to its laws. What a test can not see
// from outside, that what was answered is there after a stop of everything, each implementation
// proves for itself. RunFenced has the laws about tokens, for a store that looks at them.
package remindtest
