package planted

import (
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/options"
)

// one is an error that a machine or a driver can be told to have, to prove that the
// simulator would notice it. What chaos does to the world is a fault, see chaos.go.
type one struct {
	name  string
	about string
	set   func(*Defects)
}

// plant plants a defect in the machines.
func plant(d defect.Defect) func(*Defects) {
	return func(f *Defects) { f.Machines.Plant(defect.Of(d)) }
}

// Defects are those of the machines, and the switches of what surrounds them here.
type Defects struct {
	Machines defect.Set
	Unfenced bool // V8: the driver starts handlers without a lease
	Thirds   bool // a third of the voters is a quorum
	// Ungated: the driver starts handlers without a look at the shard's lease; LateExpelled: a
	// coordinator acts on until it is told of a lost one.
	Ungated, LateExpelled bool
	Hasty                 bool // coordinators are not told of RebalanceDelay
	// Unaware: the sharding Machines are not told that the cluster is closing; Forgetful: what a
	// shard wants remembered is not written.
	Unaware, Forgetful bool
	// Blind: a table that cannot be read is taken for empty; Early: a table says that it has what
	// waits for the disk.
	Blind, Early bool
	// StaleMark: what a disk says of when it was last in use is older than that.
	StaleMark bool
	// Apart: clocks differ by more than Epsilon; Sleepless: their wall time does not show a suspend;
	// Recordless: a record that could not be written is taken for written.
	Apart, Sleepless, Recordless bool
	// Slack: shards and coordinators wait longer than their settings say before they try again to take
	// a lease.
	Slack bool
	// Restless: what a process has yet to do of a step when it stops is not done.
	Restless bool
	// Mixed: what replicas of one role send reaches those of another; OldestOfAll: the oldest of
	// all nodes is taken for the one in charge of an entity type.
	Mixed, OldestOfAll bool
	// Mute: the Machines of a type that was closed do not answer.
	Mute bool
	// Greedy: the strategy moves all shards all the time; Unlocated: the coordinator does not hear
	// where shards shall live.
	Greedy, Unlocated bool
	// Boundless: regions do not hear of their limits.
	Boundless bool
	// Journal is what is planted in the stores of entities' state, and of reminders; Dormant: an entity that
	// has failed starts again much later than the settings say.
	Journal journals.Defects
	// Ledger is what is planted in the journal of homes.
	Ledger  journals.Defects
	Dormant bool
}

// Shards is the number of shards with which a slot starts a type, the n-th time that it starts.
func (d Defects) Shards(shards, n int) int {
	if d.Machines.Planted(defect.MixesShards) && n%2 == 0 {
		return 2 * shards
	}
	return shards
}

// Ignores reports whether a process goes on under a lease until it is told that it is lost.
func (d Defects) Ignores(lease string) bool {
	if strings.HasPrefix(lease, "shard/") {
		return d.Ungated
	}
	return d.LateExpelled
}

// required are the planted defects of the rules that all else stands on.
var required = []one{
	{"ack-before-commit", "a durable write is acknowledged before it is committed", plant(defect.AckBeforeCommit)},
	{"clock-before-items", "a repair joins the clocks before it inserts the items", plant(defect.ClockBeforeItems)},
	{"sibling-dropped", "apply drops the lesser of two concurrent puts", plant(defect.DropLosingSibling)},
	{"bare-fact", "a superseded put is shipped without the event that removed it",
		plant(defect.BareFactWithoutRemover)},
	{"no-promise", "a member is dropped although its lease may still run", plant(defect.NoPromise)},
	{"no-v1", "the own vote counts for the own lease without end", plant(defect.NoV1)},
	{"dead-is-removed", "what memberlist calls dead is removed without a decision", plant(defect.DeadMeansRemoved)},
	{"unfenced", "handlers start without a lease (V8)", func(f *Defects) { f.Unfenced = true }},
	{"thirds", "quorums of a third do not intersect", func(f *Defects) { f.Thirds = true }},
	{"no-fence", "a hand-off does not wait for the fences", plant(defect.NoFence)},
}

// further are defects beyond the required ones.
var further = []one{
	{"no-install-promise", "installing a view promises nothing", plant(defect.NoInstallPromise)},
	{"no-freeze", "grants go on after a proposal was accepted", plant(defect.NoFreeze)},
	{"lease-from-reply", "the lease counts from the answer", plant(defect.LeaseFromReply)},
	{"no-v2", "a refusing acceptor goes on granting", plant(defect.NoV2)},
	{"end-is-expiry", "a member whose machine refuses connections is dropped although its lease may still run",
		plant(defect.EndIsExpiry)},
	{"founds-unended", "founders wait for no lease when a quorum of the disks is there",
		plant(defect.FoundsUnended)},
	{"stopped-holds", "a node that has said that it stopped keeps its lease (V3)", plant(defect.StoppedHolds)},
	{"oldest-first", "a member that starts a type later takes over from the one in charge of it",
		plant(defect.OldestFirst)},
	{"leave-unsettled", "a leaver is dropped before its replicators have settled (V4)", plant(defect.LeaveUnsettled)},
	{"told-unstored", "views and acceptances are told before they are on disk (V5)", plant(defect.ToldUnstored)},
	{"goes-untold", "a node that decides, or sees that all have stopped, goes before the others know",
		plant(defect.GoesUntold)},
	{"stale-mark", "founders wait for less than what their last incarnations may have granted",
		func(f *Defects) { f.StaleMark = true }},
	{"only-last-disks", "a cold start hears the disks of the last view only", plant(defect.OnlyLastDisks)},
	{"join-without-catch-up", "a learner serves at once", plant(defect.JoinWithoutCatchUp)},
	{"read-without-catch-up", "a quorum read does not wait for the clocks it learnt of",
		plant(defect.ReadWithoutCatchUp)},
	{"read-without-agreement", "a linearizable read takes what the first majority answers",
		plant(defect.ReadWithoutAgreement)},
	{"no-token-check", "a region obeys deposed coordinators", plant(defect.NoTokenCheck)},
	{"clocks-apart", "the rates of clocks differ by a tenth", func(f *Defects) { f.Apart = true }},
	{"rest-forgotten", "a process that stops within a step does not do the rest of it",
		func(f *Defects) { f.Restless = true }},
	{"suspends-unseen", "wall time does not show that a process was suspended",
		func(f *Defects) { f.Sleepless = true }},
	{"record-unwritten", "a membership record that could not be written is taken for written",
		func(f *Defects) { f.Recordless = true }},
	{"mixed-roles", "what replicas of one role send reaches those of another", func(f *Defects) { f.Mixed = true }},
	{"oldest-of-all", "the oldest of all nodes is taken for the one in charge of an entity type",
		func(f *Defects) { f.OldestOfAll = true }},
	{"hasty", "a coordinator does not wait before it looks at the balance", func(f *Defects) { f.Hasty = true }},
	{"unaware", "sharding does not hear that the cluster is closing", func(f *Defects) { f.Unaware = true }},
	{"forgetful", "ids of entities are said to be remembered and are not", func(f *Defects) { f.Forgetful = true }},
	{"mute", "the machines of a type that was closed do not answer", func(f *Defects) { f.Mute = true }},
	{"greedy", "a strategy moves everything", func(f *Defects) { f.Greedy = true }},
	{"slack", "a lease that was not to be had is tried again much later than the settings say",
		func(f *Defects) { f.Slack = true }},
	{"unlocated", "a coordinator is not told where shards are wanted", func(f *Defects) { f.Unlocated = true }},
	{"overfull", "entities are not passivated although too many are active", plant(defect.KeepsAll)},
	{"unwoken", "what waits for a passivated entity does not wake it", plant(defect.Unwoken)},
	{"handles-meanwhile", "messages are handled while an earlier one waits for its result",
		plant(defect.HandlesMeanwhile)},
	{"reply-twice", "a question is answered twice", plant(defect.ReplyTwice)},
	{"never-idle", "no entity is passivated because it is idle", plant(defect.NeverIdle)},
	{"soon-idle", "an entity is idle as soon as it was looked at once", plant(defect.SoonIdle)},
	{"never-rests", "a shard that was stopped for good gets a home at once", plant(defect.NeverRests)},
	{"keeps-passivated", "an entity that was passivated on request stays remembered",
		plant(defect.KeepsPassivated)},
	{"wakes-passivated", "an entity that was forgotten is started again", plant(defect.WakesPassivated)},
	{"boundless", "regions do not hear of the limits of mailboxes and buffers",
		func(f *Defects) { f.Boundless = true }},
	{"lanes-closed", "a shard that drains does not handle what the lanes bring", plant(defect.LanesClosed)},
	{"unpromised", "a region that starts forgets what its node has promised for the type",
		plant(defect.Unpromised)},
	{"flush-backwards", "a buffer is flushed from its end", plant(defect.FlushBackwards)},
	{"lost-wake", "an entity that shall run is forgotten", plant(defect.LostWake)},
	{"drops-uncounted", "a drop is not told", plant(defect.DropsUncounted)},
	{"keep-lost-lease", "a shard goes on after it has lost its lease", plant(defect.KeepLostLease)},
	{"ungated", "handlers start without a look at their shard's lease", func(f *Defects) { f.Ungated = true }},
	{"late-expelled", "a coordinator acts on until it is told that its lease is lost",
		func(f *Defects) { f.LateExpelled = true }},
	{"trust-sketch", "a repair is taken though it does not add up", plant(defect.TrustSketch)},
	{"retires-unagreed", "incarnations retire without the word of the members (R16)",
		plant(defect.RetiresUnagreed)},
	{"retire-unasked", "a replica agrees on what has ended whatever the others have (R16)",
		plant(defect.RetireUnasked)},
	{"fold-unasked", "what removed members counted is folded before all have said what they have of it",
		plant(defect.FoldUnasked)},
	{"fold-unwitnessed", "what has retired is folded by replicas that have not seen how (R6)",
		plant(defect.FoldUnwitnessed)},
	{"expire-unasked", "a key expires without a look at what a majority has of it", plant(defect.ExpireUnasked)},
	{"tidy-in-old-view", "the oldest sweeps by a view of which it has heard that there is a newer one",
		plant(defect.TidyInOldView)},
	{"move-unasked", "what becomes durable is what a replica has of it, whatever the others have",
		plant(defect.MoveUnasked)},
	{"move-elsewhere", "a replica takes no part in a move of which no key is of its data", plant(defect.MoveElsewhere)},
	{"move-unfrozen", "keys are written while they become durable", plant(defect.MoveUnfrozen)},
	{"format-unasked", "the format level rises before all members speak it", plant(defect.FormatUnasked)},
	{"durable-unmoved", "keys are durable before all members have moved them", plant(defect.DurableUnmoved)},
	{"show-removed", "what belongs to removed nodes is shown until it is swept", plant(defect.ShowRemoved)},
}

// ofStorage are defects of what stands between a replica and its disk.
var ofStorage = []one{
	{"torn-start", "a start takes the rows of a torn batch as they are", plant(defect.LoadUnverified)},
	{"unread-is-empty", "a disk that cannot be read is taken for an empty one", func(f *Defects) { f.Blind = true }},
	{"failure-is-success", "a commit that failed is taken for one that succeeded", plant(defect.FailureIsSuccess)},
	{"never-retry", "a commit that failed is not tried again", plant(defect.NeverRetry)},
	{"early-sync", "a disk says that it has what it will have soon", func(f *Defects) { f.Early = true }},
}

// ofState are defects of entities that keep their state, and of its store.
var ofState = []one{
	{"journal-any-token", "a journal does not look at the fencing token",
		func(f *Defects) { f.Journal.AnyToken = true }},
	{"journal-any-sequence", "a journal does not look at the sequence number",
		func(f *Defects) { f.Journal.AnySequence = true }},
	{"journal-repeats", "a journal stores a repeated write again", func(f *Defects) { f.Journal.RepeatsTwice = true }},
	{"journal-answers-first", "a journal answers before it has stored",
		func(f *Defects) { f.Journal.AnswersFirst = true }},
	{"reply-before-commit", "an entity replies before its events are stored", plant(defect.ReplyBeforeCommit)},
	{"snapshot-ahead", "a snapshot has events that are not stored yet", plant(defect.SnapshotAhead)},
	{"write-unasked", "an entity whose write has failed goes on", plant(defect.WriteUnasked)},
	{"ledger-any-term", "the journal of homes takes what deposed coordinators write",
		func(f *Defects) { f.Ledger.AnyToken = true }},
	{"remembers-any-hosting", "the store of remembered ids takes what deposed hostings write",
		func(f *Defects) { f.Ledger.AnyHosting = true }},
	{"ledger-answers-first", "the journal of homes answers before it has stored",
		func(f *Defects) { f.Ledger.AnswersFirst = true }},
	{"tells-unwritten", "a coordinator tells of homes before they are written", plant(defect.TellsUnwritten)},
	{"reminds-any-hosting", "the store of reminders takes what deposed hostings write",
		func(f *Defects) { f.Journal.AnyHosting = true }},
	{"reminds-any-order", "a change of reminders that was overtaken takes effect",
		func(f *Defects) { f.Journal.AnyOrder = true }},
	{"ends-unhandled", "a reminder is taken off when it is handed out", plant(defect.EndsUnhandled)},
	{"fires-early", "a reminder comes before it is due", plant(defect.FiresEarly)},
	{"ends-newer", "the end of a reminder takes off the one that its handler has set", plant(defect.EndsNewer)},
	{"reminds-anew", "a shard whose stop is taken back begins anew with its reminders", plant(defect.RemindsAnew)},
	{"reminds-unmoved", "entities use reminders while these are being moved", plant(defect.RemindsUnmoved)},
	{"mixes-shards", "a type is started with other Shards by a rolling restart, and no node is refused",
		plant(defect.MixesShards)},
	{"refuses-announced", "a node that takes no leases is refused by a coordinator that knows others",
		plant(defect.RefusesAnnounced)},
	{"dormant", "an entity that has failed starts again much later than the settings say",
		func(f *Defects) { f.Dormant = true }},
}

// HuntedIn is the plan in which a defect is looked for that the drawn worlds show too rarely: some
// thousand of them may pass. There one of the first thirty must do.
var HuntedIn = map[string]options.Plan{
	"torn-start":         {Scenario: options.BadDisks},
	"format-unasked":     {Swarm: options.Cluster},
	"unread-is-empty":    {Scenario: options.BadDisks},
	"failure-is-success": {Scenario: options.BadDisks},
	"never-retry":        {Scenario: options.BadDisks},
	"early-sync":         {Scenario: options.BadDisks},
	"retires-unagreed":   {Scenario: options.Retirements},
	"retire-unasked":     {Scenario: options.Retirements},
	"fold-unasked":       {Scenario: options.LateCounts},
	"fold-unwitnessed":   {Scenario: options.Retirements},
	"move-unasked":       {Scenario: options.NewKeys},
	"move-elsewhere":     {Scenario: options.NewKeys},
	"move-unfrozen":      {Scenario: options.NewKeys},
	"durable-unmoved":    {Scenario: options.NewKeys},
	"no-fence":           {Scenario: options.RollingMoves},
	"no-token-check":     {Scenario: options.ClosedTypes},
	"keep-lost-lease":    {Swarm: options.Cluster},
	"ungated":            {Scenario: options.RollingRestarts},
	"late-expelled":      {Swarm: options.Cluster},
	"flush-backwards":    {Scenario: options.RollingMoves},
	"lanes-closed":       {Scenario: options.RollingMoves},
	"overfull":           {Swarm: options.Cluster},
	"handles-meanwhile":  {Swarm: options.Cluster},
	"reply-twice":        {Swarm: options.Cluster},
	"never-idle":         {Swarm: options.Cluster},
	"soon-idle":          {Swarm: options.Cluster},
	"keeps-passivated":   {Scenario: options.Closings},
	"wakes-passivated":   {Scenario: options.CrowdedMoves},
	"never-rests":        {Scenario: options.CrowdedMoves},
	"boundless":          {Scenario: options.CrowdedMoves},
	"unwoken":            {Swarm: options.Cluster},
	"greedy":             {Swarm: options.Cluster},
	"slack":              {Swarm: options.Cluster},
	"unlocated":          {Swarm: options.Cluster},
	"hasty":              {Scenario: options.RollingRestarts},
	"unaware":            {Scenario: options.Closings},
	"forgetful":          {Scenario: options.Closings},
	"mute":               {Scenario: options.ClosedTypes},
	"unpromised":         {Scenario: options.ClosedTypes},
	"stopped-holds":      {Swarm: options.Cluster, Scenario: options.RollingMoves},
	"leave-unsettled":    {Scenario: options.ManyLeave},
	"goes-untold":        {Scenario: options.Stops},
	"stale-mark":         {Scenario: options.OldLeases},
	"founds-unended":     {Scenario: options.OldLeases},
	"told-unstored":      {Swarm: options.Cluster},
	"rest-forgotten":     {Scenario: options.ColdRestarts},
	"record-unwritten":   {Scenario: options.ColdRestarts},
	"clocks-apart":       {Scenario: options.OldLeases},
	"suspends-unseen":    {Scenario: options.WakeUps},
	"thirds":             {Swarm: options.Cluster},
	"unfenced":           {Swarm: options.Cluster},
	"only-last-disks":    {Scenario: options.StoppedGrowing},
	"expire-unasked":     {Scenario: options.Tidying},
	"tidy-in-old-view":   {Scenario: options.Tidying},
	"no-install-promise": {Scenario: options.Votes},
	"no-freeze":          {Scenario: options.Votes},
	"no-v1":              {Scenario: options.Votes},
	"no-v2":              {Scenario: options.Votes},
	"lease-from-reply":   {Scenario: options.Votes},

	"journal-any-token":     {Swarm: options.Persist, Scenario: options.Deposed},
	"journal-any-sequence":  {Swarm: options.Persist},
	"journal-repeats":       {Swarm: options.Persist},
	"journal-answers-first": {Swarm: options.Persist},
	"reply-before-commit":   {Swarm: options.Persist},
	"snapshot-ahead":        {Swarm: options.Persist},
	"write-unasked":         {Swarm: options.Persist},
	"dormant":               {Swarm: options.Persist},
	"ends-unhandled":        {Swarm: options.Remind},
	"reminds-any-hosting":   {Swarm: options.Remind},
	"reminds-any-order":     {Swarm: options.Remind},
	"fires-early":           {Swarm: options.Remind},
	"ends-newer":            {Swarm: options.Remind},
	"mixes-shards":          {Scenario: options.RollingRestarts},
	"refuses-announced":     {Scenario: options.LeaseRollouts},
	"reminds-unmoved":       {Swarm: options.Remind, Scenario: options.Stops},
	"reminds-anew":          {Swarm: options.Remind, Scenario: options.CrowdedMoves},
	"ledger-any-term":       {Swarm: options.Persist, Scenario: options.TwoCoordinators},
	"remembers-any-hosting": {Swarm: options.Persist, Scenario: options.Deposed},
	"ledger-answers-first":  {Swarm: options.Persist},
	"tells-unwritten":       {Swarm: options.Persist},
}

// HuntedFrom is the first seed that shows a defect, where worlds before it take long and do not. A change of the
// machines or of the worlds can move it: sim -seeds 1000 with -plan, -scenario and -defect finds another.
var HuntedFrom = map[string]uint64{
	"fold-unwitnessed":      33,
	"late-expelled":         29,
	"move-unasked":          121,
	"mute":                  4,
	"never-idle":            8,
	"never-rests":           5,
	"never-retry":           15,
	"no-token-check":        59,
	"only-last-disks":       119,
	"record-unwritten":      5,
	"reminds-any-order":     220,
	"remembers-any-hosting": 880,
	"rest-forgotten":        8,
	"stopped-holds":         7,
	"tidy-in-old-view":      31,
	"told-unstored":         37,
	"unfenced":              102,
	"ungated":               7,
}

// unseen are defects that no world shows, or next to none, with the tests that catch them.
//
// Those of package membership are for its TestScripts, which plays the worst case of each with the
// rule and without it. StoppedProposes, GoesUnseen and NoV6 cost time and nothing else. AnyEpoch
// asks for a network that loses for long all that tells of a view, and lets heartbeats pass on the
// same way; UpUnasked makes a voter of a node whose replicator serves no other before it has caught
// up. The arbiter's record and wait ask for a holder that stands still at the moment when it is
// outvoted. CountAnyEpoch (R15) asks for a write in a view that all but one have left behind, while
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
//
// PutBackLast and ReturnedLast ask for messages that wait already when others come back. Where it was
// counted, lanes gave back eighty messages, each to a buffer in which nothing else waited, and no
// mailbox of a closed shard held one. TestWhatComesBackGoesFirst of package routes plants both.
//
// NoRememberWait lets an id be written after the next home has loaded the set. The next home hears
// of every change of the replicated sets, and mends that. TestStoppedWhenWritten of package
// protocol/shard plants it.
//
// ForgetsEnd has a reminder come once more, which is what its users are told may happen. TestPlantedMistakes
// of package remind/agenda, which sees the answers of the store, plants it.
//
// TrustsOutdated asks for a disk that comes back with events which no member has, and next to all copies of
// directories are of what others had. TestOutdatedDisksThatAreUsedAreNoticed of package replicator plays it.
// FoundsUnclean asks for such disks after a stop of all nodes: TestUncleanFoundersAreNoticed of package
// membership plants it.
var unseen = []one{
	{"trusts-outdated", "a process goes on although its disk is outdated (R16)", plant(defect.TrustsOutdated)},
	{"founds-unclean", "disks that have missed a retirement take part in a founding", plant(defect.FoundsUnclean)},
	{"forgets-end", "a reminder that was taken off is brought again by an older read", plant(defect.ForgetsEnd)},
	{"no-remember-wait", "a shard reports stopped while it still writes", plant(defect.NoRememberWait)},
	{"stopped-proposes", "a node that has said that it stopped goes on proposing (V3)",
		plant(defect.StoppedProposes)},
	{"any-epoch", "heartbeats of another epoch are granted", plant(defect.AnyEpoch)},
	{"no-arbiter-record", "a node that acquires the arbiter's lease forgets what the arbiter accepted",
		plant(defect.NoArbiterRecord)},
	{"no-arbiter-wait", "and does not wait for what was granted in its name", plant(defect.NoArbiterWait)},
	{"count-any-epoch", "acks count in whichever view they were given (R15)", plant(defect.CountAnyEpoch)},
	{"goes-unseen", "a node that has said that it stopped goes before it sees a view without itself (V3)",
		plant(defect.GoesUnseen)},
	{"up-unasked", "a joiner comes up before it has caught up (V7)", plant(defect.UpUnasked)},
	{"no-v6", "a new view's heartbeats wait for the next", plant(defect.NoV6)},
	{"union-drops", "a union drops what the other side lacks", plant(defect.UnionDrops)},
	{"put-back-last", "what a closed shard's mailboxes held goes behind what waits for its next home",
		plant(defect.PutBackLast)},
	{"returned-last", "what a lane gives back goes behind what waits for its shard's next home",
		plant(defect.ReturnedLast)},
}

// Names lists the planted defects that must be caught.
func Names() []string { return namesOf(required, further, ofStorage, ofState) }

// AllNames lists them with those that no world shows.
func AllNames() []string { return namesOf(required, further, ofStorage, ofState, unseen) }

func namesOf(lists ...[]one) (names []string) {
	for _, list := range lists {
		for _, f := range list {
			names = append(names, f.name)
		}
	}
	return names
}

// In are the switches of a run.
func In(o *options.Options) Defects {
	var fs Defects
	for _, list := range [][]one{required, further, ofStorage, ofState, unseen} {
		for _, f := range list {
			if f.name == o.Defect {
				f.set(&fs)
			}
		}
	}
	if o.WeakSketch {
		fs.Machines.Plant(defect.Of(defect.WeakSketch))
	}
	if o.Timing == options.RecklessTiming {
		fs.Machines.Plant(defect.Of(defect.AnyTiming))
	}
	return fs
}

// Strategy is the downing strategy s, or the planted one.
func (d *Defects) Strategy(s downing.Strategy) downing.Strategy {
	if d.Thirds {
		return thirds{}
	}
	return s
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

// Delay is the RebalanceDelay of coordinators, or what is planted.
func (d *Defects) Delay(least time.Duration) time.Duration {
	if d.Hasty {
		return 0
	}
	return least
}

// Drift is by how much clocks deviate at most, or what is planted.
func (d *Defects) Drift(most float64) float64 {
	if d.Apart {
		return options.TooFarApart
	}
	return most
}

// Retry is the pause between two tries to take a lease, or what is planted: longer than a healed
// world may wait for anything.
func (d *Defects) Retry(pause time.Duration) time.Duration {
	if d.Slack {
		return 5 * time.Minute
	}
	return pause
}
