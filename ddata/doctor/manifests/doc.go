// Package manifests says what will go wrong with a cluster of nodes that manifests of Kubernetes describe,
// before they are applied.
//
// It reads YAML, and looks at each StatefulSet and each Deployment whose pods have a container with the port of the
// nodes ([Options].Port): at their probes, hooks, limits, volumes and strategies, at the services, the
// PodDisruptionBudget and the NetworkPolicies that select its pods, and at the Roles that are bound to their
// account. What the program asks of the API server, and which variables tell it something, Options say.
//
// Fields that it does not know it leaves alone: whether the API server takes an object, kubectl apply
// --dry-run=server says. A rule of the network that names namespaces or addresses, and a role that is not in the
// manifests, are not judged: a Note says so.
//
// Nothing is asked of a cluster: [Check] is a pure function.
package manifests
