// Package remembertest holds an implementation of remember.Store to its laws. What a test can not
// see from outside, that what was answered is there after a stop of everything, each implementation
// proves for itself. RunFenced has the laws about tokens: a remember.Watcher, and a store that only tools
// use, need not obey them.
package remembertest
