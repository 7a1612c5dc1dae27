// Package memory keeps the reminders of an entity type in memory: for tests. A [Store] lives as long
// as the value does, not as long as a node. Its Due looks at all reminders of the shard.
package memory
