// Package wakeups measures the reminders of entities: what one takes in memory while it waits, and how
// late those come that are due, beside many others.
package wakeups
