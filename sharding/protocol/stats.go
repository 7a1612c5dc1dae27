package protocol

// Counter is one named count of a machine.
type Counter struct {
	Name  string
	Count uint64
}
