// Package dnstest is a name server, over UDP and TCP, for tests: what a cluster's DNS
// would say, changed at will.
package dnstest
