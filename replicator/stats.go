package replicator

// Stats counts what happened since New. All of it is for eyes and alarms; nothing depends on it.
type Stats struct {
	Malformed      uint64 // messages or groups dropped because they make no sense
	Strangers      uint64 // messages dropped because their sender is not in the view, or no view is installed
	StaleViews     uint64 // views dropped because a newer one is installed
	Applied        uint64 // groups of others applied
	Duplicates     uint64 // groups of others that were known
	Waited         uint64 // groups that came before one that they build on
	WaitingDropped uint64 // of those, dropped because too many waited; they are fetched again
	Repushes       uint64 // pushes repeated because no ack came
	Fills          uint64 // gaps filled from the log
	Repairs        uint64 // repairs finished, as the puller
	RepairsBroken  uint64 // repairs given up: lost donor, refused, no progress
	RepairAlarms   uint64 // times that a repair did not add up to the donor's digest, and another way was taken (R5)
	DonorsReplaced uint64 // donors of repairs that refused, left, fell silent or made no sense, and were replaced
	SketchCells    uint64 // cells of donors' sketches received
	SketchesFailed uint64 // sketches from which no difference could be read
	RangeRepairs   uint64 // repairs whose difference was looked for by ranges
	Donated        uint64 // repairs from here that their pullers have ended
	Helped         uint64 // questions of others' repairs answered with items, as a helper
	Diverged       uint64 // dots that stood for two items: impossible by construction; all keep the one with the lower hash (R5)
	DigestAlarms   uint64 // equal clocks with different digests: impossible by construction, repaired by union (R5)
	Held           uint64 // updates that were held back for a while
	StoreFailures  uint64 // batches that the disk refused
	Swept          uint64 // items removed that were shown to no reader any more
	Expired        uint64 // keys removed because they were not written to for too long
	Folded         uint64 // groups made that fold what removed members had counted
	Moved          uint64 // moves of keys from the volatile to the durable space that this replica took part in
	FlowsDropped   uint64 // messages larger than a frame given up
}
