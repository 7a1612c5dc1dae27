// Package kubetest has an API server of Kubernetes for tests: leases, config maps and pods, with the rules
// of the real one for writes that meet each other. The real one cannot be installed everywhere.
//
// # Rules
//
// They are those of "Kubernetes API Concepts" and "API Conventions" in the documentation of Kubernetes, of
// pkg/registry/coordination/lease/strategy.go, and of Update in the generic registry
// (k8s.io/apiserver/pkg/registry/generic/registry/store.go). The tests of this package hold it to them:
//
//   - Each write gives an object a resourceVersion that no object has had. An update that changes nothing
//     leaves the object as it was, with its resourceVersion.
//   - An update with another resourceVersion than that of the object fails with 409 Conflict, and so does one
//     with another UID, also if the object is gone.
//   - An update without a resourceVersion fails for a lease (422), and is taken for a config map.
//   - An update of a lease that is gone makes it, if it names no UID. One of a config map fails (404).
//   - A creation of what is there fails with 409 AlreadyExists. In a namespace that is not there it fails
//     with 404.
//   - leaseDurationSeconds is above 0, leaseTransitions not below. Annotations have 256 KiB together, the
//     values of a config map 1 MiB, a request 3 MiB.
//   - An account that the server does not know gets 401, one without the right 403, and the message names verb,
//     resource and namespace. A server with too many requests says 429, and how long to wait.
//   - A list has pages, and those of one list show one state.
//
// A real server can be held to the first five with the variable COTERIE_KUBERNETES_API, which names the URL of one,
// such as that of kubectl proxy; so can the laws of locks.Lock be with the store on it.
//
// # Not as the real one
//
// Watches, patches, other groups, aggregated errors and defaults are not there. State is in memory. It
// outlives Stop.
package kubetest
