// Package gossip runs memberlist over a transport.Transport, so that discovery and failure hints
// share the one port, the links and the fault injection of everything else.
//
// What it tells is a Hint and nothing more: it may shorten a suspicion or name a candidate. No
// decision about membership or ownership follows from it. memberlist cannot tell a node that left from one that
// failed, a node that is cut off learns late that it lost the others, and two halves
// never find each other again by themselves, which is why there is a loop here that rejoins what is wanted and not listed.
package gossip
