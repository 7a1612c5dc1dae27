// Package projection carries the events of an entity type to a handler: into the tables of a
// report, into an index, to another service. It reads them by a persistence.Reader, and goes on
// where it was after a stop, a move or a crash.
//
//	orders, err := projection.Start(node, projection.Config[Event]{
//		Name: "orders", Role: "backend", Type: "Order", Reader: store, Events: events,
//		Target: projection.AtLeastOnce(offsets, handle),
//	})
//
// # Nouns
//
//   - A part is a fixed share of the slices of the type, of Config.Parts. It has one offset. A worker
//     of package daemon has some parts, and each has a goroutine while it does.
//   - A [Target] is where events go. [AtLeastOnce] calls a handler, and saves the offset later, in
//     any [Offsets]: those of package replicated need nothing beside the nodes. Package readmodel, in
//     the module of PostgreSQL, commits both in one transaction.
//   - A claim is the right to save for a part. The last one counts. [Offsets] has its laws, and
//     projectiontest holds an implementation to them.
//   - [Progress] is the offset of a part, and what was counted up to it.
//
// # Why parts
//
// The number of workers changes, and they move. If the offset were that of a worker's range, another
// number of workers would find offsets of ranges that overlap its own. An offset is the reader's own
// and has no order, so ranges with different offsets cannot become one again. Parts never change:
// another number of workers deals them out anew, and no offset is touched. The price is one query per
// part, also if one worker has all of them. So Parts is the most workers there will ever be, and not
// much more.
//
// # Guarantees
//
//   - Events of one entity are handled in their order, one at a time. No event is left out, unless
//     Config.Skip says so of this one; that is counted, in Progress.Omitted and in the metrics.
//   - With AtLeastOnce an event whose handling was saved is not handled again. One that was not is
//     handled again after a stop, a move or a failure.
//   - With a target whose transaction has both, what the handler writes and the offset, each event
//     takes effect once: also if two workers have a part for a moment. The commit of the one without
//     the claim is refused.
//   - A failure names the entity, the number and the type of the event. The part begins again at what
//     is saved, after a pause that grows from BackoffMin to BackoffMax. Other parts go on.
//   - After a Reset all parts go on at the offset given, and no earlier claim saves another one.
//
// # Not guaranteed
//
//   - A handler that does not heed its context cannot be ended: its part waits for it, and so do the
//     hand-off of its worker and a rescale. Status, the log and a metric name it.
//   - After a Pause with AtLeastOnce a handler may run for Config.LookInterval more.
//   - Deleted events are not seen: see eventsourced.Snapshot.DeleteEvents.
//
// The file design.md has a table of the metrics.
package projection
