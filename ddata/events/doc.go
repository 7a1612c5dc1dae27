// Package events is what can be seen of a running node: events as they happen, metrics, and health.
//
// # Nouns
//
//   - An Event is a value that says what happened. It prints itself, and is a line of a log.
//   - A Listener is a function that gets each event, and switches on its type.
//     ddata.Config.OnEvent is one; Log makes one of a slog.Logger, and the log of every node is
//     written by that, a line per event.
//   - A Feed is a Listener that hands events on to loops: Watch yields them.
//
// Extensions of the node have events of their own, which they hand to host.Host.Emit: they reach
// the log and the Listener.
//
// # Events
//
// Package runbook has a page for each that can be a warning or an error. Their levels in the log are in
// brackets; debug, unless something is said. None decides anything:
// what others do because of a change uses ddata.Node.Watch.
//
//	ViewInstalled      [info] the members have decided on a view
//	MemberJoined       [info] a view lists a new member, which learns the data
//	MemberUp           [info] a member became Up
//	MemberLeaving      [info] a member is going and hands over
//	MemberRemoved      [info] a member is in the view no more
//	MemberUnreachable  [warn] this node hears nothing of a member
//	MemberReachable    [info] it hears the member again
//	OldestChanged      [info] singletons of a role of this node have another place
//	LeaseGained        [info] this node may run entities and singletons
//	LeaseLost          [warn; info when it stopped] it may not: expired, suspended, stopped
//	Waiting            [info] why founding or joining does not go on
//	NodeRefused        [info] this member refused a node that wanted to join
//	Downed             [warn] the others went on without this node, or it gave up
//	ArbiterTaken       [info] this node has got the lease of LeaseMajority
//	ArbiterGiven       [warn] it has it no more
//	ArbiterFailing     [warn] that lease cannot be used; meanwhile no node can be removed unless it agrees
//	Forked             [error] a view contradicts the own chain; it must never happen
//	SecondCluster      [error] nodes of another cluster have the same name: one of the two was founded by mistake
//	KeysMoving         [info] data of more keys begins to become durable; updates of them wait
//	KeysDurable        [info] it is durable
//	KeysWaiting        [warn] that waits for members; once a minute
//	FormatRaised       [info] all members speak a higher format level, and write it; older builds are refused
//	SingletonChanged   [info] a singleton has another state here: asking, in progress elsewhere, running, stopping, handed over
//	SingletonFailed    [warn] a singleton has ended by itself with an error
//	SingletonOutlived  [warn] a singleton goes on although its node has ended
//	Discovered         [info; warn without an answer, or when it may not be all] the answer of discovery has changed
//	Gossiped           [warn when an operator should look] a line of gossip's own log
//	LinkUp             a connection to a member, in one lane and stripe, is made
//	LinkDown           it ended
//	ConnectionRefused  [warn when an operator can mend it, once a minute each] a connection was refused, here or there
//	ConnectionFault    [warn when the other side broke the protocol, or none can be accepted] a connection ended or cannot be made
//	FramesDropped      [warn for a full Control queue and too large frames] what was given up in the last second, by reason
//	MessageUnsent      a message found no room or no receiver
//	MessageMalformed   bytes of another node are no message
//	CaughtUp           [info] this node has the data of a role
//	MajorityLost       [error] a majority of an older view is gone for good, and what only it held
//	RepairBegan        [info] this node fetches what it lacks from a member, beyond that one's log
//	RepairEnded        [info] done, broken or yielded, with the items and the time
//	WritersHeld        [warn] writers wait for a member that is far behind; once a minute
//	KeyLarge           [warn] a key has grown large, and again with each tenth
//	Diverged           [error] two replicas held different values of one write; mended
//	PeerMalformed      [warn] messages of a member make no sense; once a minute
//	StoreFailed        [error] durable data could not be stored
//	StoreGrown         the store's map was enlarged
//	StoreCompacted     [info; warn when it failed] the store's file was written anew
//	StoreUnmarked      [warn] the directory could not be marked as in use
//	UnnamedKeys        [info] the cluster keeps keys durable that this node does not name
//	StaleRole          [warn] the directory holds data of a role that the node does not have
//	ShutdownPhase      [info; warn when tasks failed or did not end] a phase of the coordinated shutdown has ended
//	MachineBroken      [error] a machine of the node has panicked: a defect; the node ends
//	UserCodePanicked   [error] code that the node was given has panicked, which was survived; the 1st, 2nd, 4th … time
//	NodeEnded          [info; warn when downed or broken] the node is no member any more
//
// # Metrics
//
// They are given to ddata.Config.Meter. Extensions of the node report theirs to host.Host.Meter:
// package sharding lists its own. What is called no gauge and no histogram is a counter since the
// node's start.
//
//	coterie_view_epoch                               gauge: epoch of the installed view
//	coterie_format_level                             gauge: format level of the installed view
//	coterie_members{status}                          gauge: members of the installed view
//	coterie_lease_held                               gauge: 1 while the node may run entities and singletons
//	coterie_oldest{role}                             gauge: 1 while this node is the oldest of the role
//	coterie_singleton_running{name,role}             gauge: 1 while the singleton runs on this node
//	coterie_events_total{event}                      events by kind: those of the table above, and of layers above the node with their package
//	coterie_user_panics_total                        panics of code that the node was given and that it has survived: Config.Leases
//	coterie_live                                     gauge: 1 while the node is live
//	coterie_ready                                    gauge: 1 while the node is ready
//	coterie_request_duration_seconds{role,data,op,level}  histogram: reads and writes, except purely local reads
//	coterie_repair_duration_seconds{role,data}       histogram: repairs that were done
//	coterie_store_queued_bytes                       gauge: bytes that wait for the disk
//	coterie_store_file_bytes                         gauge: size of the store's file
//	coterie_membership_steps_total                   steps
//	coterie_membership_views_installed_total         views installed
//	coterie_membership_ballots_started_total         ballots started
//	coterie_membership_ballots_won_total             ballots won
//	coterie_membership_ballots_timed_out_total       ballots timed out
//	coterie_membership_accepts_total                 proposals accepted here
//	coterie_membership_rejects_ballot_total          proposals rejected here because of a higher ballot
//	coterie_membership_rejects_promise_total         proposals rejected here because of a promise (G4)
//	coterie_membership_grants_given_total            grants given
//	coterie_membership_grants_withheld_total         grants withheld: frozen (G2), held back (V2) or downed
//	coterie_membership_grants_received_total         grants received
//	coterie_membership_leases_lost_total             leases lost
//	coterie_membership_joins_refused_total           joins refused
//	coterie_membership_dropped_other_cluster_total   messages of another cluster
//	coterie_membership_dropped_stale_total           of another epoch, ballot or incarnation
//	coterie_membership_dropped_bad_total             senseless
//	coterie_membership_dropped_full_total            joiners, candidates or hints above the limits
//	coterie_membership_forks_total                   views that contradict the own chain; must stay zero
//	coterie_transport_frames_out_total               frames out
//	coterie_transport_bytes_out_total                bytes out, with frame headers
//	coterie_transport_writes_total                   writes
//	coterie_transport_frames_in_total                frames in
//	coterie_transport_bytes_in_total                 bytes in, with frame headers
//	coterie_transport_reads_total                    reads
//	coterie_transport_resent_total                   resent
//	coterie_transport_dials_total                    dials
//	coterie_transport_dial_errors_total              dial errors
//	coterie_transport_accepted_total                 accepted
//	coterie_transport_dropped_total{reason}          frames and connections given up
//	coterie_gossip_packets_out_total                 packets handed to the transport
//	coterie_gossip_packets_in_total                  packets handed to memberlist
//	coterie_gossip_packets_lost_total                packets that the transport did not take
//	coterie_gossip_packets_dropped_total             packets that memberlist was too slow to read
//	coterie_gossip_joins_total                       attempts to join through an address
//	coterie_gossip_join_errors_total                 of those, the ones that failed
//	coterie_gossip_turned_away_total                 nodes of other clusters, malformed ones, and more than a cluster has
//	coterie_gossip_refused_total{reason}             packets and streams of gossip that were turned away
//	coterie_transport_links                          gauge: outgoing connections
//	coterie_replica_caught_up{role,data}             gauge: 1 while the replica has what older members had
//	coterie_replica_pending{role,data}               gauge: operations under way
//	coterie_replica_keys{role,data,space}            gauge: keys that hold something; space is volatile or durable
//	coterie_replica_items{role,data,space}           gauge: items of all keys
//	coterie_replica_bytes{role,data,space}           gauge: bytes of the items as they are encoded; estimated
//	coterie_replica_origins{role,data,space}         gauge: incarnations of nodes whose events are in the clock
//	coterie_replica_log_events{role,data,space}      gauge: events that are kept for members which lag
//	coterie_replica_waiting_bytes{role,data,space}   gauge: bytes of own writes that not all members have
//	coterie_replica_lag_events{role,data,space}      gauge: own events that the member which is furthest behind lacks
//	coterie_replicator_malformed_total{role,data}    messages or groups dropped because they make no sense
//	coterie_replicator_strangers_total{role,data}    messages dropped because their sender is not in the view, or no view is installed
//	coterie_replicator_stale_views_total{role,data}  views dropped because a newer one is installed
//	coterie_replicator_applied_total{role,data}      groups of others applied
//	coterie_replicator_duplicates_total{role,data}   groups of others that were known
//	coterie_replicator_waited_total{role,data}       groups that came before one that they build on
//	coterie_replicator_waiting_dropped_total{role,data}  of those, dropped because too many waited; they are fetched again
//	coterie_replicator_repushes_total{role,data}     pushes repeated because no ack came
//	coterie_replicator_fills_total{role,data}        gaps filled from the log
//	coterie_replicator_repairs_total{role,data}      repairs finished, as the puller
//	coterie_replicator_repairs_broken_total{role,data}  repairs given up: lost donor, refused, no progress
//	coterie_replicator_repair_alarms_total{role,data}  times that a repair did not add up to the donor's digest, and another way was taken
//	coterie_replicator_donors_replaced_total{role,data}  donors replaced: they refused, left, fell silent or made no sense
//	coterie_replicator_sketch_cells_total{role,data}  cells of donors' sketches received
//	coterie_replicator_sketches_failed_total{role,data}  sketches from which no difference could be read
//	coterie_replicator_range_repairs_total{role,data}  repairs whose difference was looked for by ranges
//	coterie_replicator_donated_total{role,data}      repairs from here that their pullers have ended
//	coterie_replicator_helped_total{role,data}       questions of others' repairs answered with items, as a helper
//	coterie_replicator_diverged_total{role,data}     dots that stood for two items: impossible by construction; all keep the one with the lower hash
//	coterie_replicator_digest_alarms_total{role,data}  equal clocks with different digests: impossible by construction, repaired by union
//	coterie_replicator_held_total{role,data}         updates that were held back for a while
//	coterie_replicator_store_failures_total{role,data}  batches that the disk refused
//	coterie_replicator_swept_total{role,data}        items removed that no reader was shown any more
//	coterie_replicator_expired_total{role,data}      keys removed because they were not written to
//	coterie_replicator_folded_total{role,data}       groups made that fold what removed members had counted
//	coterie_replicator_moved_total{role,data}        moves of keys from memory to disk that this replica took part in
//	coterie_replicator_flows_dropped_total{role,data}  messages larger than a frame given up
package events
