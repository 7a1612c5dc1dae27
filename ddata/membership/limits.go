package membership

// Bounds on what is kept, sent and decoded. Together they bound a message to a few megabytes, in
// practice to a few kilobytes.
const (
	membersMax    = 4096      // members of a view
	nameMax       = 128       // bytes of a cluster name, role or version
	addrMax       = 256       // bytes of an address
	rolesMax      = 32        // roles of a member
	contactsMax   = 256       // contacts in a message, candidates kept while founding
	joinersMax    = 256       // joiners that a member remembers
	saidMax       = 256       // refusals of joiners that a member remembers to have told
	hintsMax      = 256       // addresses that hints have named
	knownMax      = 8         // views of the past that a founder tells of
	setsMax       = 64        // sets of disks that a view remembers; beyond it the oldest is forgotten
	roomOfMembers = 320 << 10 // bytes of a view's members, as bytesOf counts them
	roomOfDisks   = 44 << 10  // bytes of a view's own sets of disks, as room counts them
	roomOfSets    = 180 << 10 // bytes of the sets that a view remembers; above half of this or of setsMax no node becomes a voter
	heldMax       = 256       // installed views that wait for the disk; one more, and the node ends
	downsMax      = 256       // operator's verdicts that travel in a heartbeat
	reasonMax     = 512       // bytes of a refusal's text
	settingsMax   = 20        // settings that must be alike
	settingMax    = 96        // bytes of a setting's value as it is told
	messageMax    = 4 << 20   // bytes of an encoded message
)
