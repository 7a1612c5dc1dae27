// Package voting is one member's part in deciding the view after the installed one.
//
// A Granter remembers what the node has promised to other members, by the rules G1, G3, G4 and V2
// of package membership. A Voter accepts and proposes. It accepts no view while a promise stands
// against it, and none that is not on its disk (V5). It starts a ballot when it is its turn and
// package nextview has something to decide, and finishes the proposals of others.
//
// A call takes a Scene, what the node knows at that moment, and leaves messages and a decided view
// in the Output. The membership sends them and installs the view. Package paxos has the bookkeeping
// of ballots; package arbitration carries the arbiter's vote.
package voting
