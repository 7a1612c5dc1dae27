// Package runbook has a page for each alarm of the library: what it means, what causes it, what to do, and
// what shows it.
//
// An alarm is an event that the log has as a warning or as an error: those of package events, of the
// control plane of an entity type (protocol.Event.Warning), and of the layers above the node. Its page is called as its
// Go type or constant is. Three more are states that a gauge shows: NotReady, NotLive, Lagging. The pages
// are in Markdown, in folder pages, and part of the program: a service can show
// them beside its alarms.
//
// Folder ddata/events/prom has a rule for Prometheus for each alarm, which names its page. Where there is no
// rule the page says why.
package runbook
