// Package discovery finds the addresses at which the nodes of a cluster may be, for a node that
// starts and knows no other.
//
// # Nouns
//
// A Source names addresses when it is asked: Static a list, DNS the records of a name, Union those
// of several sources. The module ddata/locks/kubernetes has one that asks the API of Kubernetes for
// pods. Anything else, such as the interface of a cloud, is a Source that its user writes. A Loop
// asks one again and again, with growing pauses, and tells each Answer.
//
// # What an answer is worth
//
// An answer is a hint and never an authority. It may name pods that are gone, lack pods that run,
// and differ from node to node; it names the asking node, too. An address costs a connection
// attempt, no more: the members decide which nodes are in the cluster. Package membership decides
// which nodes may found one, and its first-node rule needs more than an answer:
//
//   - A node that hears of a cluster joins it, whatever else it hears.
//   - Nodes that remember a cluster on disk found it anew only with a quorum of the last view's
//     disks. Discovery has no say in that.
//   - Nodes that remember none found one when BootstrapExpect of them choose each other and all
//     lock themselves to it. Each of those needs an answer that is whole, has not changed for a
//     while, and names at least BootstrapExpect addresses. Every node that it names must have been
//     heard, and be without a cluster as well. A name that is stale delays a founding until the
//     source forgets it.
//
// So a source that shows too few of the pods, or says that it does not know all of them, makes
// nodes wait, and not found a second cluster. One that shows BootstrapExpect nodes without a
// cluster and hides all those of an existing one, without an error, deceives them: nothing else in
// the world tells of that cluster. Such a source is one that names the pods of its own zone only.
//
// # Settings of the reference
//
// Those of Pekko Management's cluster bootstrap, and what stands for them here:
//
//	contact-point-discovery.service-name, port-name, discovery-method   the Source: DNS.Host, DNS.Service, or another one
//	contact-point-discovery.required-contact-point-nr                   BootstrapExpect: so many are named, and so many found together
//	contact-point-discovery.stable-margin                               StableAfter of the preset: 5 s, with Local 100 ms
//	contact-point-discovery.contact-with-all-contact-points             always so: a named node must be heard
//	contact-point-discovery.interval, exponential-backoff-*             250 ms to 2 s without a view, 10 s while a member is missing
//	contact-point-discovery.resolve-timeout                             5 s
//	contact-point.*                                                     none: nodes probe each other over the port that they have, each heartbeat
//	new-cluster-enabled                                                 BootstrapExpect 0 founds none
//
// # Errors
//
// That a name has no records, or that no server answers, is no reason for a node to end: it is said
// in the log and in what the node waits for, and asked again. Only what cannot mend by itself, such
// as an empty name, is an error of Validate.
package discovery
