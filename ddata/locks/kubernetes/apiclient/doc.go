// Package apiclient makes calls of the API server of Kubernetes, each once, and says what is wrong when
// one fails.
//
// # Nouns
//
// A [Client] has the connections. A [Resource] is one kind of object in one namespace. A [Call] names what
// was called, so that an error can say which right is missing.
//
// # Guarantees
//
// Nothing is tried again here, and no call waits for a turn: client-go would do both, and would hide from a
// renewal that its time runs out. A call that gets no answer for [Config.DeadAfter] costs all connections:
// the next call makes a new one. So a connection that leads nowhere costs one call.
//
// # Not guaranteed
//
// A call that was given up may still have an effect. [Refused] reports which errors say that it has none.
//
// The package belongs to the module of leases and discovery, and carries no promise of compatibility.
package apiclient
