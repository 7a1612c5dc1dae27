package protocol

// Defects are planted errors, so that the simulator can prove that it would find them. Only the
// simulator's self-test sets them.
type Defects struct {
	NoFence        bool // an owner stops a shard without waiting for the fences of the regions
	NoTokenCheck   bool // a region obeys commands of deposed coordinators
	KeepLostLease  bool // a shard goes on after it has lost its lease
	NoRememberWait bool // a shard reports Stopped while a write of its remembered ids is under way
}
