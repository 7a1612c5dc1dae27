package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// The vocabulary of views and leases, for code that drives a Machine or reads what it says.
type (
	// UID names one process incarnation.
	UID = view.UID
	// DiskID names a data directory.
	DiskID = view.DiskID
	// Epoch numbers the views of one cluster.
	Epoch = view.Epoch
	// ClusterID names a cluster across complete restarts.
	ClusterID = view.ClusterID
	// Era names the time of a cluster's first founding.
	Era = view.Era
	// Hash is a 128-bit hash of a view.
	Hash = view.Hash
	// Status is how far a member has come.
	Status = view.Status
	// Member is one incarnation of a node as a view lists it.
	Member = view.Member
	// DiskSet names the disks of the voters of a role in one view.
	DiskSet = view.DiskSet
	// View is one link of the chain of views.
	View = view.View
	// Lease is the permission to run entities and singletons.
	Lease = nodelease.Lease
)

// The statuses of a member.
const (
	Joining = view.Joining
	Up      = view.Up
	Leaving = view.Leaving
)
