// Package bootstrap looks for a cluster, for a node that has no view yet. It joins the one that it
// hears of. Otherwise it founds one with the other nodes that look for one.
//
// A Seeker sends Probes. A member takes a Probe as a request to join, and answers with a JoinReply
// or a Refuse; another seeking node takes it as a candidate. Founders choose each other by what
// their Probes say: the lowest uids, or the disks of the last view (Known). All chosen nodes Lock
// themselves to one view, each to one in its life, and then install it.
//
// What it guarantees, and what a cold start has to hear, stands in the documentation of package
// membership (V5, and "Which nodes may found, and when"). The Seeker is pure: its calls take the
// time, and leave messages and views in its Output. How a member lets nodes in is not its part.
package bootstrap
