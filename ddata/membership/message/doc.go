// Package message holds what the machines of the membership say to each other, and its form on the
// wire.
//
// A Heartbeat asks for a Grant. Crashed and Agreed say what a member finds of others. Fetch, Commit,
// Change and Learned carry decided views. Prepare, Prepared, Accept, Accepted and Rejected decide the next one.
// What nodes without a view say, package bootstrap declares; Append and Decode know these messages too.
//
// Decode holds what it returns to the bounds and the order of its types, so that no handler has to.
// Which message follows from which, package membership says.
package message
