package receipt

import "time"

const (
	// Every is after how many bytes a receipt is due. One is due, too, delay after a frame that none
	// has covered, so that the last frames of a burst are not kept for long.
	Every = 64 << 10
	delay = 25 * time.Millisecond

	chunkSize = 64 << 10 // one of the sizes in which memory is given out
	freeMax   = 64       // chunks that a Keeper keeps for use

	// Large is the size from which on a batch is kept in the buffer in which it was written.
	Large = 32 << 10
)
