// Package manifests says what will go wrong with a cluster of nodes that manifests of Kubernetes describe,
// before they are applied.
//
// It reads YAML, and looks at each StatefulSet and each Deployment whose pods have a container with the port of the
// nodes ([Options].Port): at their probes, hooks, limits, volumes and strategies, at the services and the
// PodDisruptionBudget that select its pods, and at the rights of their account. Fields that it does not know
// it leaves alone: whether the API server takes an object, kubectl apply --dry-run=server says.
//
// Nothing is asked of a cluster: [Check] is a pure function.
package manifests
