// Package memory is a network inside one process, for tests of what runs over a transport.
//
// A Hub stands for the wires. Each node attaches at an address and gets a transport.Network; a
// transport.Mesh over it runs the very code that it runs over TCP, so that hello, order,
// generations, back-pressure and errors are the same. A hub can cut the wire between two addresses
// in one direction or in both, delay what crosses it, and kill an address.
//
// A connection behaves like TCP as far as the layers above can tell: what is written into a cut
// wire waits and arrives when the cut heals, unless the writer gave up before; the writer blocks
// when more than a window is under way; dialling through a cut fails only when the dialler's
// patience ends; a killed address resets its connections. Bytes are never lost, altered or
// reordered within a connection.
//
// Everything waits on channels and timers made by the hub, and no lock is held over a wait. So a
// hub that was made inside a testing/synctest bubble runs in virtual time.
package memory
