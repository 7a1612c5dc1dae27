// Package direct makes statements whose arguments are sent as they are.
//
// The driver takes an array as values of its own, one for each element, looks for a way to encode each,
// and lets the buffer grow while it does that. For a statement with many rows this is most of what the call
// costs a node, in time and in memory. Here a Column is in the form of the wire from the beginning.
//
// What the driver does beside that for a query, a Statement does too: it is prepared if the connections keep
// prepared statements, and a tracer hears of it.
package direct
