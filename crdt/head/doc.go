// Package head writes and reads the heads of CBOR data items (RFC 8949), for encodings on hot paths
// that are written by hand: a major type and a number, which is a value, or how many bytes or
// elements follow. Heads are always the shortest, and no other is read, so that whatever has one
// encoding keeps it.
package head
