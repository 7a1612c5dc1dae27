// Package dnstest is a name server on loopback, over UDP and TCP, for tests: what a cluster's DNS
// would say, changed at will.
package dnstest
