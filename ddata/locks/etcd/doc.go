// Package etcd keeps leases in etcd, for nodes on several hosts. It is a module of its own, because
// the client of etcd has large dependencies.
//
// A node makes a client of etcd, with the endpoints, TLS, name and password that it needs, opens a
// [Store] with it, and gives the store to its configuration. The client stays the caller's, which
// closes it after the node. In a partition the side goes on that reaches most members of etcd: place
// them on three sites, or apart from the nodes.
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
// A transaction makes the key if there is none, and transactions on the fence and the lease of the key
// read and write the record. So a save of an earlier hold has no effect when the key is gone, however late it arrives,
// and a load sees what the last holder has saved. A transaction that acquires and whose answer got
// lost is undone by the next call: it revokes the lease, and without its lease the transaction fails.
// Release and Close end an Acquire that is under way.
//
// Until is counted on the monotonic clock of this process, which no correction of the time of day
// prolongs: from the moment when the last renewal that succeeded was sent, the TTL that etcd has
// answered, less 3 % for clocks of different rates. etcd counts on the monotonic clock of the leader,
// and later: from when the leader has the renewal. A new leader counts the whole TTL again, and an
// election timeout more, from its election (Promote in server/lease/lessor.go of etcd); a lease of
// less than five minutes has no checkpoint that would shorten that (defaultLeaseCheckpointInterval
// there). So a change of the leader extends leases. A hold ends earlier if the time of day passes its
// end: in a suspended machine the monotonic clock may stand still.
//
// A former leader that does not know of its successor may renew leases without effect. A renewal
// counts when a read that a majority has confirmed after it names the same term of Raft.
//
// The holder loses the lease, and lost is called, when no renewal has succeeded by Until, or when the
// key is gone, another's or written over, which a renewal, a load or a save notices.
//
// A renewal that has failed is tried again over a new connection: to one endpoint after the other, and
// then over those of the client. So a lease outlives connections that lead nowhere.
//
// Each call ends after Config.Timeout, and sooner if its context does. Open refuses an etcd whose calls
// take more than an eighth of the TTL, for a renewal makes two in a quarter of it.
//
// # Not guaranteed
//
//   - A leader of etcd that stood still may revoke leases in error that were renewed with its
//     successor. That is mended in etcd 3.4.31, 3.5.13 and 3.6 (issue 15247, pull request 16822).
//     Before those there may be two holders until the first one looks, a sixth of the TTL later. Only
//     the holder with the key saves.
//   - A save whose answer is outstanding when lost is called, or when Release fails, may take effect
//     until etcd has removed the key. It never does after another hold has begun.
//   - A virtual machine that is set back, with its time of day, takes itself for the holder for a moment
//     when it goes on. Saves of that moment fail.
//   - A key that something else removes is free at once. The holder notices it by its next renewal, a
//     sixth of the TTL later.
//   - The loss of the data of etcd, or a backup put back, takes leases away, and makes a lease free
//     that is held.
//
// etcd keeps former records in its history. Let it compact by itself (--auto-compaction-retention), or
// its space runs out. A record of 1 MiB fits into its default limit of a request, 1.5 MiB. The user of
// the client needs to read and write all of PREFIX/.
//
// Each lease that is held costs two requests in a sixth of the TTL, one of them confirmed by a majority:
// a thousand leases of 15 s are 800 requests a second.
//
// A client with a name and a password logs in for each renewal, which costs etcd much more than the
// renewal. With many leases, have etcd know the clients by their certificates.
//
// A member that hangs while its connection stays costs a client the calls that it sends there: of a
// cluster of three, every third. A renewal gives such a call up after a quarter of the TTL. Other calls
// fail after Config.Timeout until the client drops the connection. DialKeepAliveTime, 10 s or more, and
// DialKeepAliveTimeout of the client bound that time. Without them it can be many minutes.
package etcd
