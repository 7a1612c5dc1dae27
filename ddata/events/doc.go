// Package events is what can be seen of a running node: events as they happen, metrics, and health.
//
// # Nouns
//
//   - An Event is a value that says what happened. It prints itself, and is a line of a log.
//   - A [Listener] is a function that gets each event, and switches on its type.
//     ddata.Config.OnEvent is one. Log makes one of a slog.Logger, and the log of every node is
//     written by that, a line per event.
//   - A [Feed] is a Listener that hands events on to loops: Watch yields them.
//   - A [Meter] takes metrics. ddata.Config.Meter is one; packages prom, otel and recent have some.
//     What is called no gauge and no histogram is a counter since the node's start.
//   - [Health] is the answer to the probes of the system that runs the process: HealthHandler
//     serves them.
//
// Extensions of the node have events and metrics of their own, which they hand to host.Host.Emit
// and host.Host.Meter. They reach the same listeners and meters; package sharding lists its own.
//
// # Guarantees
//
// Each listener gets each event, by the goroutine that saw it. The events of one source come in
// order. A panic of a listener is logged. The log has each event with the level that its table
// names.
//
// # Not guaranteed
//
// Events decide nothing: what others do because of a change uses ddata.Node.Watch. A listener must
// be quick, for the source waits. A loop of a Feed that is slower than events come misses some, and
// is told how many.
//
// The file design.md has the tables of all events, with their levels, and of all metrics. Package
// runbook has a page for each event that can be a warning or an error: what it means, what causes
// it, what to do.
package events
