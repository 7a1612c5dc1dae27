// Package effect has what one step of a Replicator asks of the driver: batches for the disk,
// messages to peers, answers to callers, changes for subscribers, and what operators should see.
//
// Effects are values. The driver carries them out in the order of the fields, and reports what has
// become of them by inputs. Nothing here decides anything.
package effect
