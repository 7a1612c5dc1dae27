// Package spans names the spans of the messages of one entity type, and says what they tell of a
// message.
//
// # Nouns
//
//   - The Spans are those of one entity type on one node. Where nothing is traced they are nil.
//   - An Op is what is done with a message: it is sent, handled, buffered, passed on; or what is done
//     for it with the state of its entity.
//   - A Subject is the message.
//
// # Names
//
// A span is called by its Op and the type: "ask Cart". It has these attributes, those of messaging by
// the conventions of OpenTelemetry:
//
//	messaging.system            "coterie"
//	messaging.destination.name  the entity type
//	messaging.operation.name    the Op
//	messaging.operation.type    send or process; none for what happens on the way
//	coterie.entity.id           the id of the entity
//	coterie.shard               the number of its shard
//	coterie.message.type        the Go type of the message, where it is not encoded
//
// # Not guaranteed
//
//   - Samplers see a span before its attributes: these are made only if the span records them.
//
// The package carries no promise of compatibility: users see it through package sharding.
package spans
