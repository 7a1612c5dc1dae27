package membership

// Bounds on what is kept, sent and decoded. Together with those of a view they bound a message to a
// few megabytes, in practice to a few kilobytes.
const (
	heldMax    = 256     // installed views that wait for the disk; one more, and the node ends
	downsMax   = 256     // operator's verdicts that travel in a heartbeat
	messageMax = 4 << 20 // bytes of an encoded message
)
