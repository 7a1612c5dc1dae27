// Package coordinator holds the machine that gives the shards of one entity type their homes.
//
// Every node with the type's role that has started the type has a Coordinator. It acts on the one that
// the installed view has in charge (view.Line), and only while that holds its lease. It guarantees that a
// home is known to a majority before it is commanded. Every shard with traffic or remembered ids gets a
// home in the end, if a region can host. It does not guarantee that it is the only one that acts: regions
// refuse the commands of a deposed coordinator by their tokens. Package protocol tells of
// registration and hand-offs.
//
// # Takeover
//
// A new coordinator reads the table from a majority. Then it asks all members with the role, and
// all proxies that ever registered, what they host, in which phase, and for which hand-offs they
// buffer. It acts when all that are still in the view have answered. An answer also raises the
// floor of that region: it refuses commands of earlier coordinators from then on. A region that
// hosts a shard keeps it. Every shard about which anything is unsettled gets a new token, above
// every hand-off that was in progress. That token takes those hand-offs back and releases their
// buffers. A member that answers nothing but is in the view delays the takeover. It may be hosting,
// and only the view that drops it proves that its lease is over. The event ReportAwaited names it;
// messages to known homes are routed meanwhile. For a type that was not started on a node its
// NotStarted answers. A region that starts there later is made with the promises of that NotStarted
// (Predecessor).
//
// A node that was put in charge stays so until it is gone, and the view without it proves that its
// lease is over. So a node that starts the type later takes nothing from it, however old it is; and a
// node that has not started the type does not stand in the way. A type that was closed on the node in charge,
// and could not be started there again, has no coordinator until it is, or until the node goes: regions
// hear it (Absent) and tell it (CoordinatorAbsent).
//
// # Roll-outs
//
// The regions tell their settings. Where a change by rolling restarts was not brought to its end for
// protocol.RolloutMax, the coordinator tells of it, and names the members: ChangingLeft, LeasesLacking.
//
// # One role
//
// A type runs under one role. Coordinators of two roles would never meet. So at the begin of its
// term a coordinator asks all members without its role under which role they run the type
// (Compare). It waits for the answers about one RetryInterval. A member with both roles answers so
// if it is inquired. Where the type is in service under another role the coordinator stands down
// and refuses its regions; both sides say so (TypeMismatch), with both roles.
//
// # Strategies
//
// The coordinator asks an allocation.Strategy for homes and for moves. The strategies of package
// allocation answer within Step. The driver asks any other strategy, with the effect Consult, on a
// copy, and it answers with Advised: one question at a time. The default answers when the strategy
// takes longer than StrategyTimeout, misbehaves, or names no region that may host. Loads come from
// the regions (Loads). Locations come from a replicated map that outside clients write
// (StateLocations). A new coordinator reads that map before it acts.
//
// The package carries no promise of compatibility: it is open to the drivers in sharding and
// proptest/sim.
package coordinator
