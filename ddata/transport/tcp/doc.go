// Package tcp makes TCP connections that end when the other side is gone.
//
// A connection that is idle is probed, and bytes that stay unacknowledged end it, where the kernel
// has a bound for that (Linux: TCP_USER_TIMEOUT). Both ends do so: accepted connections have it from
// their listener.
//
// A Line writes to a connection what the kernel takes at once, for writers that must not wait.
//
// The package knows nothing of what the connections carry. It carries no promise of compatibility:
// transport has it as its default Network.
package tcp
