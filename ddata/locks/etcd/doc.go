// Package etcd keeps leases in etcd, for nodes on several hosts. It is a module of its own, because
// the client of etcd has large dependencies.
//
// A node makes a client of etcd, with the endpoints, TLS, name and password that it needs, opens a
// [Store] with it, and gives the store to its configuration. The client stays the caller's, which
// closes it after the node. In a partition the side goes on that reaches most members of etcd:
// place them on three sites, or apart from the nodes.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: certificates,
//		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second})
//	store, err := etcd.Open(ctx, client, etcd.Config{Prefix: "shop"})
//	node, err := ddata.Start(ctx, ddata.Config{Downing: downing.LeaseMajority{}, Leases: store})
//
// # Nouns
//
// A hold is one time of being the holder. It has a lease of etcd, which the holder renews six times
// in its TTL, and a key with that lease, which etcd removes when the lease ends. The fence is the
// revision of etcd that made the key: no other hold has it.
//
//	PREFIX/id              which store this is; made once, never changed
//	PREFIX/leases/NAME     the holder: an id of the hold, the owner; there while it is held
//	PREFIX/records/NAME    the record, with a checksum; stays
//
// # Guarantees
//
// They are the laws of locks.Lock, which package lockstest holds the store to. A save of an earlier
// hold has no effect when its key is gone, however late it arrives. A load sees what the last
// holder has saved. The holder counts its time on its own monotonic clock, 3 % less than what etcd
// has granted. A lease outlives connections that lead nowhere, and a change of the leader of etcd.
//
// # Not guaranteed
//
//   - A leader of etcd that stood still may revoke leases in error that were renewed with its
//     successor. That is mended in etcd 3.4.31, 3.5.13 and 3.6.
//   - A key that something else removes is free at once, and so is the lease after a loss of etcd's
//     data.
//   - A virtual machine that is set back takes itself for the holder for a moment. Its saves fail.
//
// # Running it
//
// Each lease that is held costs two requests in a sixth of the TTL: a thousand leases of 15 s are
// 800 requests a second. The user of the client needs to read and write all of PREFIX/. Let etcd
// compact its history by itself (--auto-compaction-retention). Set DialKeepAliveTime and
// DialKeepAliveTimeout: without them a member that hangs costs a client its calls for many minutes.
//
// The file design.md has the guarantees and exceptions in full, and what else to set.
package etcd
