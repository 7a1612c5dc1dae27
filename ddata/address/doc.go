// Package address checks the addresses of nodes, which are texts of the form host:port.
//
// An address has one of three uses, and each has its check:
//
//   - CheckListen: a node listens there. The host may be empty, and port 0 takes a free port.
//   - CheckAdvertised: a node tells it to others. It names a host; port 0 stands for the port at
//     which the node listens.
//   - CheckPeer: a node dials it. It names a host, and a port above 0.
//
// The host may be a name or an IP address, and the port is a number. The package resolves no names
// and opens no connections: an address that passes may still lead nowhere.
package address
