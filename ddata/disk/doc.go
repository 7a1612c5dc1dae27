// Package disk is the directory of a node (Config.Dir): what the node keeps there, and what it must
// wait for before it acts.
//
//   - Dir is the open directory. It holds a table of rows for each dataset that is durable, and
//     the membership's record.
//   - A Recorder writes the record on a goroutine of its own, one at a time, and answers each with
//     membership.Persisted. The loop that renews the lease waits for no disk.
//   - The items of a table are read ahead: a node that starts decodes them while it takes others in.
//   - A mark says until when the node may be at work. After a kill the next node on the directory
//     waits for the leases that this one granted from then on only. Covers reports whether what the
//     node computes now comes before the mark; a grant that does not is not sent.
//
// A record that PutRecord has returned for is durable. The marks before it are void. A mark that the
// disk does not take costs the other nodes the grants of this one, and nothing else.
//
// The package knows no machine: what a record says is package record's, and what a row says is
// package rows'.
package disk
