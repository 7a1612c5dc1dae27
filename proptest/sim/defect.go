package sim

import (
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// plantedDefect is an error that a machine or a driver can be told to have, to prove that the
// simulator would notice it. What chaos does to the world is a fault, see chaos.go.
type plantedDefect struct {
	name  string
	about string
	set   func(*defects)
}

// defects are the switches of all machines.
type defects struct {
	member   membership.Defects
	replica  settings.Defects
	store    crdt.Defects
	shard    protocol.Defects
	unfenced bool // V8: the driver starts handlers without a lease
	thirds   bool // a third of the voters is a quorum
	// ungated: the driver starts handlers without a look at the shard's lease; lateExpelled: a
	// coordinator acts on until it is told of a lost one.
	ungated, lateExpelled bool
	hasty                 bool // coordinators are not told of RebalanceDelay
	// unaware: the sharding machines are not told that the cluster is closing; forgetful: what a
	// shard wants remembered is not written.
	unaware, forgetful bool
	// blind: a table that cannot be read is taken for empty; early: a table says that it has what
	// waits for the disk.
	blind, early bool
	// staleMark: what a disk says of when it was last in use is older than that.
	staleMark bool
	// mute: the machines of a type that was closed do not answer.
	mute bool
	// greedy: the strategy moves all shards all the time; unlocated: the coordinator does not hear
	// where shards shall live.
	greedy, unlocated bool
	plane             dataplane.Defects // of the data planes
}

// ignores reports whether a process goes on under a lease until it is told that it is lost.
func (d defects) ignores(lease string) bool {
	if strings.HasPrefix(lease, "shard/") {
		return d.ungated
	}
	return d.lateExpelled
}

// required are the planted defects that every run of the self-test must catch.
var required = []plantedDefect{
	{"ack-before-commit", "a durable write is acknowledged before it is committed", func(f *defects) {
		f.replica.AckBeforeCommit = true
	}},
	{"clock-before-items", "a repair joins the clocks before it inserts the items",
		func(f *defects) { f.store.ClockBeforeItems = true }},
	{"sibling-dropped", "apply drops the lesser of two concurrent puts", func(f *defects) {
		f.store.DropLosingSibling = true
	}},
	{"bare-fact", "a superseded put is shipped without the event that removed it", func(f *defects) {
		f.store.BareFactWithoutRemover = true
	}},
	{"no-promise", "a member is dropped although its lease may still run",
		func(f *defects) { f.member.NoPromise = true }},
	{"no-v1", "the own vote counts for the own lease without end", func(f *defects) { f.member.NoV1 = true }},
	{"dead-is-removed", "what memberlist calls dead is removed without a decision", func(f *defects) {
		f.member.DeadMeansRemoved = true
	}},
	{"unfenced", "handlers start without a lease (V8)", func(f *defects) { f.unfenced = true }},
	{"thirds", "quorums of a third do not intersect", func(f *defects) { f.thirds = true }},
	{"no-fence", "a hand-off does not wait for the fences", func(f *defects) { f.shard.NoFence = true }},
}

// further are defects beyond the required ones.
var further = []plantedDefect{
	{"no-install-promise", "installing a view promises nothing", func(f *defects) { f.member.NoInstallPromise = true }},
	{"no-freeze", "grants go on after a proposal was accepted", func(f *defects) { f.member.NoFreeze = true }},
	{"lease-from-reply", "the lease counts from the answer", func(f *defects) { f.member.LeaseFromReply = true }},
	{"no-v2", "a refusing acceptor goes on granting", func(f *defects) { f.member.NoV2 = true }},
	{"stopped-holds", "a node that has said that it stopped keeps its lease (V3)",
		func(f *defects) { f.member.StoppedHolds = true }},
	{"leave-unsettled", "a leaver is dropped before its replicators have settled (V4)",
		func(f *defects) { f.member.LeaveUnsettled = true }},
	{"told-unstored", "views and acceptances are told before they are on disk (V5)",
		func(f *defects) { f.member.ToldUnstored = true }},
	{"goes-untold", "a node that decides, or sees that all have stopped, goes before the others know",
		func(f *defects) { f.member.GoesUntold = true }},
	{"stale-mark", "founders wait for less than what their last incarnations may have granted",
		func(f *defects) { f.staleMark = true }},
	{"only-last-disks", "a cold start hears the disks of the last view only",
		func(f *defects) { f.member.OnlyLastDisks = true }},
	{"join-without-catch-up", "a learner serves at once", func(f *defects) { f.replica.JoinWithoutCatchUp = true }},
	{"read-without-catch-up", "a quorum read does not wait for the clocks it learnt of", func(f *defects) {
		f.replica.ReadWithoutCatchUp = true
	}},
	{"read-without-agreement", "a linearizable read takes what the first majority answers", func(f *defects) {
		f.replica.ReadWithoutAgreement = true
	}},
	{"no-token-check", "a region obeys deposed coordinators", func(f *defects) { f.shard.NoTokenCheck = true }},
	{"hasty", "a coordinator does not wait before it looks at the balance", func(f *defects) { f.hasty = true }},
	{"unaware", "sharding does not hear that the cluster is closing", func(f *defects) { f.unaware = true }},
	{"forgetful", "ids of entities are said to be remembered and are not", func(f *defects) { f.forgetful = true }},
	{"mute", "the machines of a type that was closed do not answer", func(f *defects) { f.mute = true }},
	{"greedy", "a strategy moves everything", func(f *defects) { f.greedy = true }},
	{"unlocated", "a coordinator is not told where shards are wanted", func(f *defects) { f.unlocated = true }},
	{"overfull", "entities are not passivated although too many are active", func(f *defects) {
		f.plane.KeepsAll = true
	}},
	{"unwoken", "what waits for a passivated entity does not wake it", func(f *defects) { f.plane.Unwoken = true }},
	{"flush-backwards", "a buffer is flushed from its end", func(f *defects) { f.plane.FlushBackwards = true }},
	{"lost-wake", "an entity that shall run is forgotten", func(f *defects) { f.plane.LostWake = true }},
	{"drops-uncounted", "a drop is not told", func(f *defects) { f.plane.DropsUncounted = true }},
	{"keep-lost-lease", "a shard goes on after it has lost its lease",
		func(f *defects) { f.shard.KeepLostLease = true }},
	{"ungated", "handlers start without a look at their shard's lease", func(f *defects) { f.ungated = true }},
	{"late-expelled", "a coordinator acts on until it is told that its lease is lost",
		func(f *defects) { f.lateExpelled = true }},
	{"no-remember-wait", "a shard reports stopped while it still writes",
		func(f *defects) { f.shard.NoRememberWait = true }},
	{"trust-sketch", "a repair is taken though it does not add up", func(f *defects) { f.replica.TrustSketch = true }},
	{"fold-unasked", "what removed members counted is folded before all have said what they have of it",
		func(f *defects) { f.replica.FoldUnasked = true }},
	{"expire-unasked", "a key expires without a look at what a majority has of it",
		func(f *defects) { f.replica.ExpireUnasked = true }},
	{"tidy-in-old-view", "the oldest sweeps by a view of which it has heard that there is a newer one",
		func(f *defects) { f.replica.TidyInOldView = true }},
	{"move-unasked", "what becomes durable is what a replica has of it, whatever the others have",
		func(f *defects) { f.replica.MoveUnasked = true }},
	{"move-unfrozen", "keys are written while they become durable", func(f *defects) { f.replica.MoveUnfrozen = true }},
	{"durable-unmoved", "keys are durable before all members have moved them",
		func(f *defects) { f.member.MoveUnasked = true }},
	{"show-removed", "what belongs to removed nodes is shown until it is swept",
		func(f *defects) { f.store.ShowRemoved = true }},
}

// ofStorage are defects of what stands between a replica and its disk.
var ofStorage = []plantedDefect{
	{"torn-start", "a start takes the rows of a torn batch as they are",
		func(f *defects) { f.store.LoadUnverified = true }},
	{"unread-is-empty", "a disk that cannot be read is taken for an empty one", func(f *defects) { f.blind = true }},
	{"failure-is-success", "a commit that failed is taken for one that succeeded",
		func(f *defects) { f.replica.FailureIsSuccess = true }},
	{"never-retry", "a commit that failed is not tried again", func(f *defects) { f.replica.NeverRetry = true }},
	{"early-sync", "a disk says that it has what it will have soon", func(f *defects) { f.early = true }},
}

// huntedIn is the plan in which a defect is looked for that the drawn worlds show too rarely: some
// thousand of them may pass. There one of the first thirty must do.
var huntedIn = map[string]Plan{
	"torn-start":         {Scenario: badDisks},
	"unread-is-empty":    {Scenario: badDisks},
	"failure-is-success": {Scenario: badDisks},
	"never-retry":        {Scenario: badDisks},
	"early-sync":         {Scenario: badDisks},
	"fold-unasked":       {Scenario: lateCounts},
	"move-unasked":       {Scenario: newKeys},
	"move-unfrozen":      {Scenario: newKeys},
	"durable-unmoved":    {Scenario: newKeys},
	"keep-lost-lease":    {Swarm: Cluster},
	"ungated":            {Scenario: rollingRestarts},
	"late-expelled":      {Swarm: Cluster},
	"flush-backwards":    {Scenario: rollingMoves},
	"overfull":           {Swarm: Cluster},
	"unwoken":            {Swarm: Cluster},
	"greedy":             {Swarm: Cluster},
	"unlocated":          {Swarm: Cluster},
	"hasty":              {Scenario: rollingRestarts},
	"unaware":            {Scenario: closings},
	"forgetful":          {Scenario: closings},
	"mute":               {Scenario: closedTypes},
	"stopped-holds":      {Swarm: Cluster, Scenario: rollingMoves},
	"leave-unsettled":    {Scenario: manyLeave},
	"goes-untold":        {Scenario: stops},
	"stale-mark":         {Scenario: oldLeases},
	"thirds":             {Swarm: Cluster},
	"unfenced":           {Swarm: Cluster},
}

// unseen are defects that no world shows, or next to none, with the tests that catch them.
//
// Those of package membership are for its TestScripts, which plays the worst case of each with the
// rule and without it. StoppedProposes, GoesUnseen and NoV6 cost time and nothing else. AnyEpoch
// asks for a network that loses for long all that tells of a view, and lets heartbeats pass on the
// same way; UpUnasked makes a voter of a node whose replicator serves no other before it has caught
// up. The arbiter's record and wait ask for a holder that stands still at the moment when it is
// outvoted. CountAnyEpoch (V7) asks for a write in a view that all but one have left behind, while
// neither its acks nor its pushes tell of the newer one: TestOnlyAcksOfTheOperationsEpochCount of
// package replicator plays that.
//
// UnionDrops: a union takes place when equal clocks have different digests. Clock and items change
// together in memory, the rows of a disk are believed only if they sum to their digest, and a
// repair is taken only if it adds up to the donor's; so that there is no loss of messages,
// processes or commits after which two stores with one clock differ. (With a second defect planted
// that makes them differ, the checker of equal clocks ends the run before there is a union.)
// TestUnionDropsNothing of package crdt plants it in two such stores and sees it, and
// TestEqualClocksWithDifferentDigestsAreRepairedByUnion of package replicator holds the way there.
var unseen = []plantedDefect{
	{"stopped-proposes", "a node that has said that it stopped goes on proposing (V3)",
		func(f *defects) { f.member.StoppedProposes = true }},
	{"any-epoch", "heartbeats of another epoch are granted", func(f *defects) { f.member.AnyEpoch = true }},
	{"no-arbiter-record", "a node that acquires the arbiter's lease forgets what the arbiter accepted",
		func(f *defects) { f.member.NoArbiterRecord = true }},
	{"no-arbiter-wait", "and does not wait for what was granted in its name",
		func(f *defects) { f.member.NoArbiterWait = true }},
	{"count-any-epoch", "acks count in whichever view they were given (V7)",
		func(f *defects) { f.replica.CountAnyEpoch = true }},
	{"goes-unseen", "a node that has said that it stopped goes before it sees a view without itself (V3)",
		func(f *defects) { f.member.GoesUnseen = true }},
	{"up-unasked", "a joiner comes up before it has caught up (V4)", func(f *defects) { f.member.UpUnasked = true }},
	{"no-v6", "a new view's heartbeats wait for the next", func(f *defects) { f.member.NoV6 = true }},
	{"union-drops", "a union drops what the other side lacks", func(f *defects) { f.store.UnionDrops = true }},
}

// DefectNames lists the planted defects that must be caught: the required ones, and with all the
// further ones too.
func DefectNames(all bool) []string {
	var names []string
	for _, f := range required {
		names = append(names, f.name)
	}
	if all {
		for _, f := range further {
			names = append(names, f.name)
		}
		for _, f := range ofStorage {
			names = append(names, f.name)
		}
	}
	return names
}

func allDefectNames() []string {
	names := DefectNames(true)
	for _, f := range unseen {
		names = append(names, f.name)
	}
	return names
}

// planted are the switches of a run.
func (o *Options) planted() defects {
	var fs defects
	for _, list := range [][]plantedDefect{required, further, ofStorage, unseen} {
		for _, f := range list {
			if f.name == o.Defect {
				f.set(&fs)
			}
		}
	}
	return fs
}

func (o *Options) memberDefects() membership.Defects { return o.planted().member }

// strategy is the downing strategy, or the planted one.
func (o *Options) strategy() downing.Strategy {
	if o.planted().thirds {
		return thirds{}
	}
	return o.Strategy
}

// thirds is no strategy: two thirds of the voters can go on without each other.
type thirds struct{ downing.KeepMajority }

// Quorum accepts any third.
func (thirds) Quorum(voters []view.Member, has func(view.UID) bool) bool {
	n := 0
	for _, v := range voters {
		if has(v.UID) {
			n++
		}
	}
	return 3*n >= len(voters)
}

func (o *Options) replicaDefects() settings.Defects {
	f := o.planted()
	f.store.WeakSketch = o.WeakSketch
	f.replica.Store = f.store
	return f.replica
}

// delay is RebalanceDelay, or what is planted.
func (o *Options) delay() time.Duration {
	if o.planted().hasty {
		return 0
	}
	return o.RebalanceDelay
}

// laneOf maps the Replicator's lanes to those of the network. Its prompt messages may go either
// way: order there is a matter of speed.
func (o *Options) laneOf(l effect.Lane) lane {
	switch {
	case l == effect.Bulk:
		return bulk
	case o.PromptLossy:
		return control
	}
	return data
}
