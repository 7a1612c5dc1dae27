// Package ledgers has the journal in which simulated clusters keep the homes of shards, the regions
// and the remembered ids: real ledgers and stores of ids, over the store of package journals, and a
// judge of what coordinators do with them.
//
// # Nouns
//
//   - The Ledgers are those of a world. Processes share the journal, and nothing else.
//   - A book is what the judge knows of one entity type: every event that took effect, and the latest
//     term whose coordinator has fenced the journal.
//
// # What is judged
//
//   - No event of a term takes effect after a later coordinator has begun to read.
//   - What a coordinator reads is what was written before, and all of it.
//   - A coordinator tells of homes that are in the journal.
//   - The events of a history have the numbers 1, 2 and so on, and none is deleted that is in no
//     snapshot.
package ledgers
