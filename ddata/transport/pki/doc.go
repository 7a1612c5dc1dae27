// Package pki lets the nodes of a cluster know each other by certificates: mutual TLS 1.3 from PEM
// files, which are read again when they change.
//
// All nodes trust one certificate authority, and each shows a certificate of it, as server and as
// client. A process without one is turned away before it can say anything. An authority that also
// certifies others needs Files.Name: a name that only the nodes' certificates carry.
//
// # Renewal
//
// Files are looked at again when a connection is made, at most once in CheckEvery. What is new
// counts for connections from then on; those that are there go on, so a certificate may be renewed,
// and an authority be replaced (by a file with both, then one with the new), while the cluster
// runs. Files that cannot be used (half written, key and certificate of different pairs) are
// logged, and the last good ones count until they run out. To take a certificate's right away from
// a node at once, use another authority and restart the nodes.
package pki
