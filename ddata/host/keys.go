package host

import "slices"

// durableKeys reserves key patterns, as a list of well-known ports does. A pattern stands in this
// list, and is not registered by its extension, because members agree on durable keys when they
// join, which is before any extension has started. A pattern that comes later has the data of its
// keys moved to the disks of all members, and writers wait for that.
var durableKeys = []string{
	"sharding/*/ids/*", // ids of entities that package sharding remembers
	"reminders/*",      // reminders of entities
	"persistence/*",    // state of entities, of package sharding/persistence/replicated
	"projection/*",     // offsets of package sharding/projection/replicated
}

// DurableKeys are the patterns of the extensions' keys that are durable on every node with a
// directory, without being named in Config.DurableKeys. The slice is the caller's.
func DurableKeys() []string { return slices.Clone(durableKeys) }
