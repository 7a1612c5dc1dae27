// Package pods finds the nodes of a cluster by the API of Kubernetes: the pods of a namespace that have some
// labels. It is a discovery.Source, for ddata.Config.Discovery.
//
//	cluster, err := rest.InClusterConfig()
//	found, err := pods.New(cluster, pods.Config{Labels: map[string]string{"app": "shop"}, Port: "coterie"})
//	node, err := ddata.Start(ctx, ddata.Config{Discovery: found, …})
//
// DNS does the same without the API: discovery.DNS, with a headless service that publishes addresses of pods
// that are not ready. The API needs no such service, and tells of a pod as soon as that has an address.
//
// # Guarantees
//
// An answer names each pod with the labels that has an address and has not ended: those that are not ready, for
// a node is ready only in a cluster, and those that end, for a cluster may be on them. It is read from what a
// majority of etcd has, not from a cache. An answer that is not whole is an error.
//
// # Rights
//
// The service account needs this rule in a Role of the namespace. An error says so if it is missing.
//
//	rules:
//	- apiGroups: [""]
//	  resources: ["pods"]
//	  verbs: ["list"]
//
// # Not guaranteed
//
// A pod without an address is not named, so the founders of a cluster wait until so many pods as
// ddata.Config.BootstrapExpect says have one.
package pods
