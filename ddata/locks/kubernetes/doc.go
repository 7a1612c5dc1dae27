// Package kubernetes keeps leases in Kubernetes, as objects of coordination.k8s.io/v1, for nodes
// that run in its pods. It is a module of its own, because the client of Kubernetes has large
// dependencies.
//
//	cluster, err := rest.InClusterConfig()
//	store, err := kubernetes.Open(ctx, cluster, kubernetes.Config{Prefix: "shop"})
//	node, err := ddata.Start(ctx, ddata.Config{Downing: downing.LeaseMajority{}, Leases: store})
//
// # Nouns
//
// A hold is one time of being the holder. It has an identity of its own, which is the
// holderIdentity of a Lease object, and a fence: the object's leaseTransitions, which every hold
// counts up. The holder renews the object six times in its TTL. The record is a ConfigMap.
//
//	Lease      PREFIX              which store this is; made once
//	Lease      PREFIX-NAME-HASH    the holder, renewTime, leaseDurationSeconds; stays when the lease is free
//	ConfigMap  PREFIX-NAME-HASH    the record, with a checksum and the fence; stays
//
// # Guarantees
//
// They are the laws of locks.Lock, which package lockstest holds the store to. No clock of another
// machine is ever compared with one of this machine. One of several that take a lease gets it, and
// a save of an earlier hold has no effect after a later one has used the record. The lease of a
// node that died can be taken after its TTL; one that was released is free at once. A lease
// outlives connections that lead nowhere, a restart of the API server, and load that it sheds.
//
// # Rights
//
// The service account needs these rules in a Role of the namespace. An error names the one that is
// missing. The leases can be looked at with kubectl get leases.
//
//	rules:
//	- apiGroups: ["coordination.k8s.io"]
//	  resources: ["leases"]
//	  verbs: ["get", "create", "update"]
//	- apiGroups: [""]
//	  resources: ["configmaps"]
//	  verbs: ["get", "create", "update"]
//
// # Not guaranteed
//
// A Lease object that something else removes is free at once, and until its holder notices there
// may be two. So may there be after a backup of etcd that is put back. A virtual machine that is
// set back takes itself for the holder for a moment. The file design.md has these cases, and how
// time is counted.
//
// # Cost
//
// Each lease that is held costs six updates in a TTL, which etcd writes to its disks: a thousand
// leases of 15 s are 400 writes a second. For the shards of many entity types give the leases of
// PostgreSQL or of an etcd of your own, or a longer TTL. A record may have 1 MiB, which is the most
// that a ConfigMap takes.
package kubernetes
