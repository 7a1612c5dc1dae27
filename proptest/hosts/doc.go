// Package hosts plays a network of several hosts on one Linux machine, for tests with real
// processes and real sockets. Each process has a network stack of its own. What goes between them
// passes through a switch in the test, which can cut links, one way or both, and lose packets.
//
//	network := hosts.New(seed)
//	defer network.Close()
//	a, b := network.Host(), network.Host()
//	err := a.Start(exec.Command(program))	// the program calls Enter first, and listens on a.Addr()
//	network.Cut(a, b)                   	// what a sends does not reach b; b is still heard
//	network.Lose(0.3)                   	// three packets of ten are lost, everywhere: TCP gets through, in minutes
//	network.Heal()
//
// A Host is an address. Start runs a process there, in a network namespace of its own; when that
// has ended another one may be started. A child's namespace has a loopback device and one TUN
// device, whose other end is the switch: it hands packets of IPv4 over as they are, in the order in
// which it takes them. There is no delay beside that of the machine, and no limit of speed.
//
// It needs /dev/net/tun and the right to make namespaces: root, or user namespaces for all. Where
// these are missing Start fails with ErrUnavailable, and a test skips. Nothing is changed outside
// the namespaces, which end with their processes.
package hosts
