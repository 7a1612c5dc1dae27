// Package wire is what replicators say to each other: the messages, their bytes, and how they
// print.
//
// A [Message] is a pointer to one of the structs of this package. It is immutable once sent, and
// names the epoch of the view that its sender has installed. [Append] encodes it and [Decode] reads
// it: a version byte and one core-deterministic CBOR array (encode.go draws all of them). A message
// has one encoding only. What no correct replica sends is refused by [ErrMalformed] or
// [ErrVersion]; decoding never panics and never costs more than in proportion to the bytes.
//
// Whether a message makes sense to the replica that receives it is not known here.
//
// A message whose clocks are larger than a frame goes in parts. [ClockBytes] tells how large it is,
// and [CargoOf] tells it from others that are on their way (package push).
package wire
