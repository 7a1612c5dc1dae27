// Package record holds what the disk of a node keeps of the membership: its last view, the view that
// it may have accepted since, and what it knows to be settled.
//
// A Record is encoded as one value that replaces the one before. A Store numbers the records of a
// running node, and says which of them is on disk. What waits for a record, its caller knows. Tools
// describe a record and take keys off it without a node.
package record
