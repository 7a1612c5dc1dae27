// Package kubernetes keeps leases in Kubernetes, as objects of coordination.k8s.io/v1, for nodes that run
// in its pods. It is a module of its own, because the client of Kubernetes has large dependencies.
//
//	cluster, err := rest.InClusterConfig()
//	store, err := kubernetes.Open(ctx, cluster, kubernetes.Config{Prefix: "shop"})
//	node, err := ddata.Start(ctx, ddata.Config{Downing: downing.LeaseMajority{}, Leases: store})
//
// # Nouns
//
// A hold is one time of being the holder. It has an identity of its own, which is the holderIdentity of a
// Lease object, and a fence: the object's leaseTransitions, which every hold counts up. The holder renews the
// object six times in its TTL. The record is a ConfigMap.
//
//	Lease      PREFIX              which store this is; made once
//	Lease      PREFIX-NAME-HASH    the holder, renewTime, leaseDurationSeconds; stays when the lease is free
//	ConfigMap  PREFIX-NAME-HASH    the record, with a checksum and the fence; stays
//
// # Time
//
// No clock of another machine is ever compared with one of this machine. renewTime is for people, and to make
// each renewal a change: it grows with each one, also if the time of day is set back.
//
// A door that finds a holder notes the resourceVersion and the time on the monotonic clock of its own process.
// It takes the lease when it finds the same resourceVersion after the leaseDurationSeconds of the object. So
// it takes two calls of Acquire at least, so far apart, to take the lease of a node that died. A lease that
// was released is free at once.
//
// Until is counted on the monotonic clock of the holder: from the moment when the last renewal that succeeded
// was sent, the TTL less 3 % for clocks of different rates. A hold ends earlier if the time of day passes its
// end: in a suspended machine the monotonic clock may stand still.
//
// # Guarantees
//
// They are the laws of locks.Lock, which package lockstest holds the store to. Each write is an update
// with the resourceVersion and the UID that were read, which the API server compares. So one of several that
// take a lease gets it, a renewal prolongs nothing that another one has taken, and nothing makes an object
// again that was removed.
//
// Before a hold reads or writes the record for the first time, it writes its fence into the ConfigMap. From
// then on no save of an earlier hold has an effect, however late it arrives.
//
// An acquisition or a save whose answer got lost is undone by the next call: it changes the object, and then
// an update with the earlier resourceVersion has no effect. Release and Close end an Acquire that is under way.
//
// The holder loses the lease, and lost is called, when no renewal has succeeded by Until, or when the object is
// gone or another's, which a renewal, a load or a save notices.
//
// A call that gets no answer in a quarter of the TTL costs all connections to the API server. The next call
// makes a new one. A renewal that has failed is tried again four times before the next one is due, later if the API
// server asks to wait (429 with Retry-After). So a lease outlives connections that lead nowhere, a restart of
// the API server, and load that it sheds.
//
// Each call ends after Config.Timeout, and sooner if its context does. Open refuses an API server whose calls
// take more than an eighth of the TTL, and one that does not compare resourceVersions, as some proxies and
// imitations do.
//
// # Rights
//
// The service account needs these rules in a Role of the namespace. An error names the one that is missing.
//
//	rules:
//	- apiGroups: ["coordination.k8s.io"]
//	  resources: ["leases"]
//	  verbs: ["get", "create", "update"]
//	- apiGroups: [""]
//	  resources: ["configmaps"]
//	  verbs: ["get", "create", "update"]
//
// The leases can be looked at with kubectl get leases.
//
// # Not guaranteed
//
//   - A Lease object that something else removes is free at once. Its holder notices that by its next renewal,
//     a sixth of the TTL later, and until then there may be two. The fence begins again above that of the
//     record, which stays. If the ConfigMap was removed too, it begins at 1; the earlier holder can then not
//     save, for the object that it knows has another UID.
//   - A save whose answer is outstanding when lost is called may take effect until the next hold reads or
//     writes the record. It never does after that.
//   - A virtual machine that is set back, with its time of day, takes itself for the holder for a moment when
//     it goes on. Saves of that moment fail if another hold has used the record.
//   - A backup of etcd that is put back, or an etcd that loses writes, can let two hold a lease.
//   - Something else that writes into a Lease object of the store ends no hold, but each such write begins the
//     wait of the others anew.
//
// # Cost
//
// Each lease that is held costs six updates in a TTL, which etcd writes to its disks: a thousand leases of
// 15 s are 400 writes a second, more than the nodes of a large cluster make. For the shards of many entity
// types give the leases of PostgreSQL or of an etcd of your own, or a longer TTL. A record may have 1 MiB,
// which is the most that a ConfigMap takes.
package kubernetes
