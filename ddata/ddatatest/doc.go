// Package ddatatest starts clusters of real nodes in one process, for the tests of whatever runs on
// nodes: replicated data, entities, a whole service.
//
//	nodes := ddatatest.Start(t, "backend", "backend", "frontend") // the roles of three nodes
//	carts, err := sharding.Start(nodes[0], cartType)
//
// They are founded together on loopback, with the timers of ddata.Local, and are members of one
// view, with their data, when Start returns. They are closed when the test ends, however it ends.
// Their ports are taken from the kernel and kept: no other process can get one between its choice
// and its use, however many tests run beside this one.
//
// The nodes are real, and so is time: a test of many time-outs or of faults of the network is
// better off in virtual time or with package transport/faulty, which StartWith lets a test set.
package ddatatest
