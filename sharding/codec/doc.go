// Package codec is what entity types say on the wire: the types of their messages, and the frames
// that carry these.
//
// # Nouns
//
//   - A Registry knows the concrete message types of one entity type by their wire ids. It is filled
//     once, and read by any goroutine afterwards.
//   - A Type is one of them. It encodes and decodes its messages: by a plan if it is a struct of
//     plain fields, by its own methods, by the Encoding of the registry, or by the
//     CBOR library. Replies, whose types are not registered, go the same ways.
//   - A frame is what travels at once: a version, and one CBOR array. The table of frames stands in
//     wire.go. A Message is a tell or an ask as its frame has it.
//   - A ReplyStatus says what became of a question.
//
// # Guarantees
//
//   - The bytes are a promise to nodes of other versions: the same values become the same bytes.
//   - Decoding never panics, and never allocates more than in proportion to what has arrived. A
//     panic of the user's own encoder or decoder is an error, a Panic.
//
// # Not guaranteed
//
//   - Two versions of a message type understand each other only as far as CBOR does.
//
// The package carries no promise of compatibility: users see it through package sharding.
package codec
