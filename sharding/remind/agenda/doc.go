// Package agenda decides which reminders of one shard are handled, and when.
//
// # Nouns
//
//   - An Agenda is the machine of one hosted shard. It holds only the reminders that are under way.
//     The others stand in a store, which it reads from the first one that is due.
//   - A flight is one reminder under way: its entity has its message, or what follows from that is
//     not written yet.
//   - A Set is a change that an entity has asked for. It is answered when it is written.
//
// # Guarantees
//
//   - A reminder is taken off, or moved to its next turn, only after it was handled. A handler that
//     has failed is repeated after a pause that grows; the pause is stored, too.
//   - A reminder is not handed out before it is due, by the clock of this node.
//   - At most FiringMax reminders are under way. One of a name of an entity is under way at a time.
//   - At most one read and one write are under way. What comes meanwhile goes together in the next
//     write.
//   - A reminder that was handled, and whose end is written, is not handed out again: also not by a
//     read that began before the write.
//   - After the store has answered remind.ErrFenced nothing is read, written or handed out. Each Set is
//     answered with that error, and Alarm has it once.
//
// # Clocks
//
// Reminders are due by the wall clock. Pauses after a failure of the store are measured by the
// monotonic clock. An agenda with a reminder that is not due asks for a step each LookMax, so that it
// sees soon that the wall clock has jumped ahead. If that jumps back, reminders wait for it. So they do on
// another node, if a handler has failed on one whose clock is ahead: the end of the pause is a time of that clock.
//
// The package carries no promise of compatibility: it is open to the driver in sharding/dataplane
// and to proptest.
package agenda
