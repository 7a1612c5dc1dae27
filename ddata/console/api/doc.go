// Package api is the schema of the console: what its JSON API takes and answers, as Go types with
// the names of their JSON fields. The console fills it in, the command coterie and the page read it.
//
// # Paths
//
// All are below the path of the console's handler, such as /coterie/. A GET needs Read, a POST Operate.
//
//	GET  api/v1/cluster                                    Cluster: the view, and what each node says of itself
//	GET  api/v1/node                                       Node: only the node that is asked
//	GET  api/v1/shards?type=T&from=N&limit=N               Shards: where the shards of a type are; PageMax at most
//	GET  api/v1/entity?type=T&id=ID                        Entity: where it is, why it was passivated, what waits
//	GET  api/v1/metrics                                    Metrics: what took how long in the last minute
//	GET  api/v1/events?limit=N                             Events: the latest of all nodes, at most EventsMax
//	GET  api/v1/runbook?alarm=NAME                         Runbook: the page of an alarm; the name as Alarm.Kind has it
//	POST api/v1/actions  (Action)                          Result
//
// A POST has the header Header with any value, and the content type application/json. An answer that
// is not 200 has an Error. Answers name the nodes that gave none in time in their field Unanswered:
// what such a node would have said is missing, and the rest is whole.
//
// # Names
//
// A node is named by its uid, sixteen hex digits; logs show the last eight. Where a node is asked
// for, these eight, or its address, name it too. Times are RFC 3339, durations milliseconds in fields
// that end with Millis. A later version of this API only adds fields and paths below v1.
//
// The package has no code but what names and bounds need. It carries the promise that v1 stays.
package api
