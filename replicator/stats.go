package replicator

// Stats counts what happened since New.
type Stats struct {
	Malformed    uint64 // messages dropped because they make no sense
	Strangers    uint64 // messages dropped because their sender is not in the view
	DigestAlarms uint64 // equal clocks with different digests: impossible by construction, repaired by union
}
