package membership

// heldMax is how many installed views may wait for the disk; one more, and the node ends.
const heldMax = 256
