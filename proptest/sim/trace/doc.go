// Package trace keeps the story of a simulated world.
//
// A [Trace] folds everything that happens into one [Hash], and prints it when somebody watches. Two
// runs of a seed must end with the same hash. Where they do not, something read a clock, the order
// of a map, or a global generator.
package trace
