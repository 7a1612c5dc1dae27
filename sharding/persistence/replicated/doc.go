// Package replicated keeps the state of entities in the replicated data of a role. It needs nothing
// beside the nodes. A [Store] is a persistence.Journal, and has its Snapshots, States and Reader. Open
// it on each node of the role:
//
//	store, err := replicated.Open(node, "backend")
//
// What is stored is in the memory of every node of the role. It is on the disk of every one that
// has a directory (ddata.Config.Dir), because the keys persistence/… are reserved as durable. So it
// is for state that fits into the memory of a node, with few events of an entity between two
// deletions. PostgreSQL (module sharding/persistence/postgres) has room for more.
//
// # Nouns
//
// A shard is one key of the durable space. Its items are events, and what decides which of them
// count. Replicas accept every write. So a write of a deposed owner is not refused by them; it does
// not count.
//
// A seat is the right of one process to write to a shard. It is named by the token of its hosting,
// by a turn, and by the process. A hosting has one seat. It has another one for each time that its
// calls come from another process.
//
// The transactions of a seat are a chain. Each ends with a head, which drops the head before it. A
// replica applies nothing before what it drops. So each replica has the beginning of a chain, and
// never a later transaction without the earlier ones.
//
// # How a seat is taken
//
//  1. The process writes its intent, which has its seat, at a majority.
//  2. It reads the shard by a linearizable read.
//  3. It writes the first transaction of its seat. That follows the top, which is the head of the
//     highest seat that the replica has. Its rows say what counts: what counted under the top, and
//     the dots of the top's own seat, up to its head. Its own seat counts from then on. The write
//     is settled as any transaction is.
//
// Where it finds a higher intent or seat, it is fenced, or begins again with a higher turn.
//
// # How a transaction is settled
//
// Append makes a transaction in the local replica, if that knows no higher seat. It is written at a
// majority, and looks back by the acks (ddata.UpdateThenLook): it reads the intents. If none is
// higher, it is settled: each seat that is opened later has it in its chain.
//
// The reason: the higher seat read the shard in step 2, after its intent was at a majority. That
// read is linearizable: a majority had the same items of the shard, and its intent among them. It
// shares a replica with the majority that acknowledged the transaction. The ack of that replica did
// not tell of the intent, so the transaction came there first, and the read saw it. When the
// transaction takes a second round trip, its read began after it was at a majority, and did not see
// the intent. So that was not at a majority then, and step 2 began later still. Either way the
// replica of step 3 has the transaction. If the top that it follows is that of the transaction's
// seat, then the transaction is in its rows. Else the top is of a higher seat, of which the same
// holds.
//
// A linearizable read that sees no intent above the top settles what it sees, too. Its state is
// ordered before the intents that it did not see, and so before the linearizable reads of step 2
// that follow them.
//
// If there is a higher intent, the transaction may be in the rows of the higher seat. Append waits
// until such a read finds that seat open. If the rows have the transaction, Append returns nil: it
// took effect before the later hosting began. If not, it never will, and Append returns ErrFenced.
// If the rows know nothing of its seat any more, the seat was swept while Append waited. Then the
// transaction may have counted, and later ones may have deleted what it wrote. The outcome is unknown,
// and so says the error, as it does if the context ends before. When a seat is wanted
// for a second and not opened, its process may be gone: then the one that waits takes the next turn
// of that hosting.
//
// # What a transaction may drop
//
// A replica drops what a transaction drops, whether that counts or not. So a transaction drops
// nothing that its own counting makes superfluous. Delete writes a mark, and drops the events in
// another transaction, when the mark is settled.
//
// # What an offset means
//
// A query yields what is settled. A linearizable read of each shard says what that is. Events of one
// shard come in the order in which they were written, those of two shards in any order.
//
// An offset has a place for each shard of the type: the number of a seat, and that of a dot of the
// seat. Seats are numbered along their chain. So when a shard changes its owner, what the new owner
// writes has higher places, and what the old one wrote keeps its own. What was deleted does not
// change the places of the rest. Shards are listed in a key of their type before their first seat is
// taken, so a query finds those that its replica has not heard of yet.
//
// A query fails when its offset is after the end of a shard. Then the offset is of another store, or
// the nodes have lost what was there.
//
// # Costs
//
// An append takes one round trip, and a second one if the acks tell of what has not come here yet.
// Taking a seat takes three. A load by the seat takes one, another one a linearizable read. All cost
// what they read or change, and a descent into the items of the shard. The rows have an entry for
// each seat of which items are alive. Those without are dropped in a walk over the shard when the
// rows have doubled, from 64 on. So is what owners wrote that does not count.
//
// A query begins with a linearizable read of each shard, and with a walk over its items. A live one
// takes another read for each change of a shard that it hears of, and costs what has changed. An
// offset has about 12 bytes for each shard.
//
// # Limits
//
//   - The events of one write: [WriteMax] bytes; the id of an entity: [IDMax] bytes.
//   - A call above 4 MiB goes in several transactions.
//   - Items of at most 16,384 seats may be alive in a shard.
//   - An event takes about 150 bytes of memory beside its body, on each node (BenchmarkHeld: 153 with
//     bodies of 100 bytes). So 1 GiB holds about 4 million events of that size.
//
// # Not guaranteed
//
// The store has no disk of its own: Config.Dir must be set on enough nodes. When a majority of the
// role's nodes is gone at once with its disks, so is what only they had. A call needs a majority of
// the role's nodes, and a lease of its own node. It is no persistence.Remover: several shards cannot
// go at one moment.
package replicated
