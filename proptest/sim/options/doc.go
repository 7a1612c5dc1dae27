// Package options draws what kind of world a seed of the simulator has.
//
// [Options] are a swarm: some kinds of harm are off in most seeds, others frequent, so that rare
// combinations come up often. A [Plan] narrows what is drawn. Each concern draws from a stream of its
// own (package random), so that an option more leaves the stories of the seeds as they were.
//
// A scenario beside plain chaos provokes what chance finds too rarely, and bends the options to that.
// Each is drawn from the seed in ordinary runs too; none knows of the defects that may be planted. A
// [Fault] is one kind of harm that chaos does; Options.Weights says how often. A [Timing] is a set of
// time-outs for all nodes.
//
// The plan [Cluster] draws worlds about the cluster, with little data and much of everything else.
// What plays the options is package sim.
package options
