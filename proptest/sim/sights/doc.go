// Package sights follows what simulated replicas show of sets, by what differs from read to read, which is little.
package sights
