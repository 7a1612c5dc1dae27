// Package figures says what an entity type is like on one node, in the words of the console's API. It
// reads what the data plane counts in any case: it takes no lock of a sender for long, and asks no
// other node.
package figures
