// Package history keeps a value as the events that changed it, in a persistence.Journal. It is for
// what the library itself keeps there: sets of remembered ids, and the homes of shards.
//
// # Nouns
//
// A [History] is that of one value. A [Form] says what the events are and what they do to the
// value. After Config.SnapshotAfter events the whole value goes into a snapshot. Config.KeepSnapshots
// of them stay, and the events after the oldest. A value is read from the newest snapshot that is
// sound, and from the events after it.
//
// # Guarantees
//
// Two processes that change one history at one time meet at its sequence numbers: the later one
// reads what the earlier one wrote, and writes after it. A change that failed may be there or not.
// It takes no effect after the next one.
//
// With Form.Token, an event whose token is lower than one in the history is refused. A process can only
// write after the last event if it has read, or written, all events up to it. So what a deposed writer
// has begun meets a conflict, and is not repeated after its successor's first event.
//
// # Not guaranteed
//
// A snapshot is one value of the Journal: one of more than persistence.BodyMax bytes is not stored.
// Then all events stay, and a read takes longer. A line of the log says so.
package history
