// Package defect names the errors that tests can plant in the machines.
//
// A test of the whole, such as the simulator, proves little while it finds nothing. So the machines
// can be told to break one of their rules, and the tests show that they notice.
//
// # Nouns
//
//   - A Defect is one such error. Its comment says which rule it breaks.
//   - A Set is the defects of one run. The same Set goes to all machines: each looks for its own.
//
// # How a machine has them
//
// The configuration of a machine embeds a Set under an unexported alias, planted. So it has the
// methods Plant, for tests, Planted, for the machine, and Defects, for its parts, and no field to set.
//
// # Guarantees
//
// A configuration that no test has touched has no defect. Looking for one costs the test of a bit.
//
// The package carries no promise of compatibility. Nothing but a test plants anything.
package defect
