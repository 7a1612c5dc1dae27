package workload

// None is the workload of a world without users of a script.
type None struct{}

var _ Workload = None{}

// Start implements Workload, as do the other methods.
func (None) Start(Process) {}

// Heal ends nothing.
func (None) Heal() {}

// Missing waits for nothing.
func (None) Missing() string { return "" }

// Finish judges nothing.
func (None) Finish() {}
