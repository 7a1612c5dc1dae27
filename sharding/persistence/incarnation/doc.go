// Package incarnation is what entities that keep their state have in common, whatever they keep and
// in what form: the wait for the store, the failure that names the entity, and what becomes of an
// incarnation after it. Packages eventsourced and durablestate stand on it.
//
// An incarnation reads its state before its first message, and waits for each of its writes by
// Context.Await. A failure of either is a [Failure]. The incarnation does not know what is stored
// then, so it never goes on: [Adopt] has it stop or start again, and read its state anew.
//
// The package carries no promise of compatibility: users see it through the packages above.
package incarnation
