// Package measure is what the benches have in common: callers in a loop, what they found, and the line
// of figures that is printed.
package measure
