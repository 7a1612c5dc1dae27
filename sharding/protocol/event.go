package protocol

// Event is something worth a log line or a metric. It prints itself.
type Event interface {
	event()
	String() string
}
