package proptest

// law names a law in a failure, by its number in design.md.
type law string

const (
	mergesAgree            law = "1 (merges agree)"
	updatesInflate         law = "2 (updates inflate, or make no event)"
	groupsAreDeltas        law = "3 (groups are deltas)"
	statesDecompose        law = "4 (states are joins of their dots)"
	valuesAreTheModels     law = "5 (values are the model's)"
	encodingsComeBack      law = "6 (encodings come back)"
	strangersAreRefused    law = "6 (strange items are refused)"
	digestsAgree           law = "7 (equal clocks, equal digests)"
	trimmingChangesNothing law = "8 (trimming changes nothing)"
	logsShipDifferences    law = "9 (a log ships the difference)"
	disksHoldStates        law = "10 (a disk holds a state that was)"
	metadataIsBounded      law = "11 (metadata is bounded)"
	itemsAreInPlace        law = "12 (every item in its place)"
	viewsNeverChange       law = "13 (what was handed out never changes)"
	updatesAreRepeatable   law = "14 (updates are repeatable)"
)
