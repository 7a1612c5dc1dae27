package dataplane

// Defects are planted errors, so that the simulator can prove that it would find them. Only the
// simulator's self-test sets them.
type Defects struct {
	FlushBackwards bool // what waits in a buffer is sent from its end
	LostWake       bool // an entity that shall run is forgotten now and then
	DropsUncounted bool // a drop is told to no hook and not counted
	KeepsAll       bool // no entity is passivated for the sake of a limit
	Unwoken        bool // what waits for an entity that was passivated does not wake it
}
