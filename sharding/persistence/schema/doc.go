// Package schema says which Go types are stored, under which names and versions, and how what an
// earlier program has stored becomes what this one understands. Entities that keep their state
// need it: their events and states outlive the program that wrote them.
//
//	var events = schema.CBOR(
//		schema.Type[Event]("opened", Opened{}),
//		schema.Type[Event]("deposited", Deposited{},           // version 3
//			schema.From(func(v depositedV1) (depositedV2, error) { … }),
//			schema.From(func(v depositedV2) (Deposited, error) { … })),
//	)
//
// # Nouns
//
// A [Schema] is a list of each [Kind] of value: the name that is stored, the Go type, and an
// [Upcast] for each form that the type had before. The version of a type is one more than the
// number of its up-casters. A value is read in the form in which it was stored, and goes through
// all up-casters from there.
//
// # Guarantees
//
//   - What is stored is CBOR, as messages are, and its name does not depend on names in Go. So types
//     and packages may be renamed.
//   - A value that cannot be read is an error: bytes that are no such value, a name that is unknown, a
//     newer version, an up-caster that fails or panics.
//
// # Not guaranteed
//
// A field that the type has lost is left out silently, and a new one has its zero value. A change
// that means more than this needs an up-caster, and a type of its own for the form before.
package schema
