// Package etcdtest runs etcd for tests: one member or a cluster, in a temporary directory. It needs
// the program etcd of an installation, and no running server.
//
// The members listen on free ports of the loopback device: without TLS, or with certificates of a [CA]
// that the test makes. They end with their test, and
// on Linux also when the process of the test is killed. Elections take about a second, and the least
// TTL of a lease is 1 s.
//
// A [Proxy] stands between a client and a member. It stalls or cuts what goes through it, as a
// partition of the network does.
package etcdtest
