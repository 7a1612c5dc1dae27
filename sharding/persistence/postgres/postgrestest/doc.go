// Package postgrestest runs a PostgreSQL server for tests, in a temporary directory, as an ordinary
// user. It needs the programs initdb and postgres of an installation, and no running server.
//
// The server listens on a Unix socket in its directory, and on a port of the loopback device. It
// ends with its test, and also when the process of the test is killed. It does not wait for the
// disk, so it keeps its data when its processes are killed, but not when the machine is.
package postgrestest
