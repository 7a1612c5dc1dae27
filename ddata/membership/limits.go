package membership

// Bounds on what is kept, sent and decoded. Together with those of a view they bound a message to a
// few megabytes, in practice to a few kilobytes.
const (
	contactsMax = 256     // contacts in a message, candidates kept while founding
	joinersMax  = 256     // joiners that a member remembers
	saidMax     = 256     // refusals of joiners that a member remembers to have told
	hintsMax    = 256     // addresses that hints have named
	knownMax    = 8       // views of the past that a founder tells of
	heldMax     = 256     // installed views that wait for the disk; one more, and the node ends
	downsMax    = 256     // operator's verdicts that travel in a heartbeat
	reasonMax   = 512     // bytes of a refusal's text
	settingsMax = 20      // settings that must be alike
	settingMax  = 96      // bytes of a setting's value as it is told
	messageMax  = 4 << 20 // bytes of an encoded message
)
