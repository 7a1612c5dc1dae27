// Package faulty makes a network bad at will, for the tests of whatever runs over one: a
// transport.Mesh, or whole nodes (ddata.Config.Network).
//
// Wires stands for what lies between all processes of a test. Each process gets a Network of its
// own from At, which wraps a real one: transport.TCP(), or that of a memory.Hub. A wire is one
// direction between two addresses, as they listen and are dialled, and its Weather may change at
// any time:
//
//	wires := faulty.New(1)
//	defer wires.Close()
//	a := ddata.Config{Bind: "127.0.0.1:7001", Network: wires.At("127.0.0.1:7001", transport.TCP())}
//	…
//	wires.Cut("127.0.0.1:7001", "127.0.0.1:7002")                // one way: 7001 is not heard any more, and hears
//	wires.Set("127.0.0.1:7002", "127.0.0.1:7001", faulty.Weather{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond})
//	wires.Break("127.0.0.1:7001", "127.0.0.1:7003")              // connections that are open end; new ones may be made
//	wires.HealAll()
//
// What a connection carries is never lost, doubled, altered or reordered while it lasts, as with
// TCP: loss shows as delay, a cut as silence, and what was written into a cut arrives when it
// heals, unless the connection was given up before. Connections break when they are told to, or
// after a number of packets that is drawn from the seed. A wire with a Rate is a slow reader: its
// writer waits when a window is under way. Dialling through a cut lasts until the dialler's
// patience ends.
//
// The faults are made at the side that dialled, for both directions of its connections, so every
// process of a test needs a Network of the same Wires. A side that closes only its writing closes
// all when that arrives. The draws follow the seed; the times are those of the machine, or of the
// bubble: everything waits on channels and timers, so Wires that were made in a bubble of
// testing/synctest over a memory.Hub run in virtual time.
package faulty
