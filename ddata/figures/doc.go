// Package figures reports what replicas hold as gauges: keys, bytes, logs, and how far other members are behind.
// The table in package events explains them. They are asked for when a Meter reads, and cost nothing before.
package figures
