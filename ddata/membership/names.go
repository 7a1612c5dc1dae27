package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
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

// What is said while a cluster is looked for, for code that reads messages.
type (
	// Contact is where a node can be found.
	Contact = bootstrap.Contact
	// Known is what a disk remembers of a view of the past.
	Known = bootstrap.Known
	// Setting is something that all nodes must have configured alike.
	Setting = bootstrap.Setting
	// Probe is what a node without a cluster says.
	Probe = bootstrap.Probe
	// JoinReply answers a Probe: there is a cluster.
	JoinReply = bootstrap.JoinReply
	// Refuse answers a Probe: the node will not be taken.
	Refuse = bootstrap.Refuse
	// Lock says that its sender has locked itself to a founding view.
	Lock = bootstrap.Lock
	// Reason says why a node was refused.
	Reason = bootstrap.Reason
)

// The reasons of a refusal.
const (
	ReasonName     = bootstrap.ReasonName
	ReasonProtocol = bootstrap.ReasonProtocol
	ReasonConfig   = bootstrap.ReasonConfig
	ReasonDisk     = bootstrap.ReasonDisk
	ReasonRole     = bootstrap.ReasonRole
	ReasonGone     = bootstrap.ReasonGone
	ReasonCopy     = bootstrap.ReasonCopy
	ReasonRoom     = bootstrap.ReasonRoom
)

// NewSetting makes a setting.
func NewSetting(name string, value any) Setting { return bootstrap.NewSetting(name, value) }

// The statuses of a member.
const (
	Joining = view.Joining
	Up      = view.Up
	Leaving = view.Leaving
)
