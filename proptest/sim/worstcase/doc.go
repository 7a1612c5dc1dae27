// Package worstcase plays what chance finds too rarely: the worst cases of views.
//
// A script steers a [World] through its network, the nodes that join it, and an operator. It breaks
// no rule that the machines rely on, so that right machines stay right whatever it plays.
//
//   - [Growing] cuts the network at the moment when a view commits that has grown;
//   - [StoppedGrowing] stops everything at that moment;
//   - [Votes] plays one case for each rule of votes and leases: package membership's TestScripts
//     plays them with its machines alone.
//
// A script says which world is bad, and judges nothing. The exception is a cluster that does not go
// on although its settings promise that it does.
package worstcase
