// Package shutdown ends a service in phases: tasks are registered for a phase, those of one phase
// run side by side, and each phase has a time-out of its own. A task that does not end in time is
// named, and the next phase begins all the same.
//
// The phases, in order, and what they are for:
//
//	before-service-unbind     last things while everything works, such as telling a load balancer
//	service-unbind            stop to take new requests
//	service-requests-done     let requests that are under way end
//	service-stop              cut off those that are left
//	before-cluster-shutdown   last use of entities and of replicated data
//	cluster-leave             the node says that it leaves, so that nothing new is placed on it
//	sharding-shutdown-region  shards are handed over; package sharding does it
//	cluster-exiting           other things that run once per cluster are handed over; then the members decide a view without the node
//	cluster-shutdown          the node is no member any more
//	before-terminate          last of all, before the node lets go of its port and its directory
//
// Whatever ends a node, each of its tasks is run once at most: Leave, and SIGTERM where that is
// asked for, go through all phases. A node that was downed, refused or closed has nothing to hand
// over any more: it skips cluster-leave, sharding-shutdown-region and cluster-exiting, and goes
// through those of the others that have not been.
package shutdown
