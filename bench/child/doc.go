// Package child runs the benches' program as a second process, whose processor and memory are its own.
package child
