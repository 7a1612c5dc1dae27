package protocol

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// The settings of an entity type that its machines look at, by subject. sharding.EntityType has
// the same values.

// HandOff bounds the phases in which a shard moves from one node to another.
type HandOff struct {
	// BeginTimeout bounds the first phase, until all regions buffer. Past it the hand-off is
	// aborted and the shard stays. Default 10 s.
	BeginTimeout time.Duration
	// FinishTimeout bounds the second phase, until the owner has stopped the shard. Past it the
	// hand-off is aborted with an alarm. It leaves room for the fences, the mailboxes and
	// StopTimeout twice. Default 60 s.
	FinishTimeout time.Duration
	// StopTimeout is how long an entity may take to stop. Then it is stopped by force: it ends as
	// soon as its handler returns. A handler that has not returned after as long again aborts the
	// hand-off. Default 10 s.
	StopTimeout time.Duration
}

func (h *HandOff) setDefaults() {
	config.Default(&h.BeginTimeout, 10*time.Second)
	config.Default(&h.FinishTimeout, 60*time.Second)
	config.Default(&h.StopTimeout, 10*time.Second)
}

func (h HandOff) check(f *config.Faults, retry time.Duration) {
	f.Add(h.StopTimeout < 0, "HandOff.StopTimeout", "%v is negative", h.StopTimeout)
	f.Add(h.BeginTimeout < retry,
		"HandOff.BeginTimeout", "%v is below Coordination.RetryInterval %v: nothing would be repeated", h.BeginTimeout,
		retry)
	f.Add(h.FinishTimeout < 2*h.StopTimeout,
		"HandOff.FinishTimeout", "%v is below twice StopTimeout %v: a forced stop could not finish",
		h.FinishTimeout, h.StopTimeout)
}

// Rebalance says when the coordinator looks at the balance of shards. A shard that has lost its
// home gets another at once, whatever stands here.
type Rebalance struct {
	// Interval is the time between two looks. Default 10 s, 100 ms on a node with ddata.Local;
	// negative: never.
	Interval time.Duration
	// Delay is how long the members must have been the same before a look. For a rolling restart
	// set a little more than the time from one node to the next. Then no shards move to a node that
	// has come back while the next one is about to leave. Default 0.
	Delay time.Duration
	// MixedVersions has the coordinator look also while the regions' nodes run several app
	// versions. Default false: what moved to an old one would have to move again.
	MixedVersions bool
	// Unreachable has it look also while a member is unreachable. Default false: hand-offs wait for
	// that member until they are aborted.
	Unreachable bool
	// Joining has it look also while a member is joining. Default false: that member will want its
	// share at once.
	Joining bool
}

func (r *Rebalance) setDefaults(local bool) {
	config.Default(&r.Interval, shortIf(local, 10*time.Second))
}

func (r Rebalance) check(f *config.Faults) {
	f.Add(r.Interval > 0 && r.Interval < time.Millisecond, "Rebalance.Interval", "%v is below 1ms; negative is never",
		r.Interval)
	f.Add(r.Delay < 0, "Rebalance.Delay", "%v is negative", r.Delay)
}

// Allocation says how homes are chosen.
type Allocation struct {
	// Strategy chooses the homes of shards: one of package allocation, or any other implementation.
	// It is called where it can hold nothing up and break nothing. It must be the same on every
	// node of the role, because any of them may run the coordinator: a node with another takes no
	// part. Strategies are compared by their names (allocation.NameOf), so limits and the like may
	// differ. Default: allocation.LeastShard with its defaults.
	Strategy allocation.Strategy
	// StrategyTimeout is how long a Strategy that is not of package allocation may think before
	// the default answers in its place. Default 5 s.
	StrategyTimeout time.Duration
	// Changing lets this node run the type together with nodes that have another Strategy. It is for a rolling
	// restart that brings another: set it with that, and take it away by the next one. Until then shards may move
	// more often than they need, as often as the coordinator's node changes. Where it is still set although all nodes
	// have one Strategy, ChangingLeft tells of it after RolloutMax. Default: others are refused.
	Changing bool
}

func (a *Allocation) setDefaults() {
	config.Default(&a.StrategyTimeout, 5*time.Second)
	if a.Strategy == nil {
		a.Strategy = allocation.LeastShard{}
	}
}

func (a Allocation) check(f *config.Faults) {
	f.Add(a.StrategyTimeout < 0, "Allocation.StrategyTimeout", "%v is negative", a.StrategyTimeout)
	if v, ok := a.Strategy.(interface{ Validate() error }); ok {
		f.Of("Allocation.Strategy", v.Validate())
	}
	name := allocation.NameOf(a.Strategy)
	f.Add(name == "" || len(name) > strategyNameMax || !utf8.ValidString(name), "Allocation.Strategy",
		"its name has %d bytes or is not UTF-8, want 1 to %d: give it a method Name() string",
		len(name), strategyNameMax)
}

// Passivation says which entities are passivated without asking for it, and how long they may take
// to stop.
type Passivation struct {
	// Strategy chooses among the entities of a shard: those that are idle, or too many. It may
	// differ between nodes. If entities are remembered none is passivated by it. Default: those that
	// saw no message for 2 minutes.
	Strategy passivation.Strategy
	// StopTimeout is how long an entity that is passivated, by Strategy or because it was asked
	// for, may take to stop; then it is stopped by force. Default 10 s.
	StopTimeout time.Duration
}

func (p *Passivation) setDefaults(remembered bool) {
	config.Default(&p.StopTimeout, 10*time.Second)
	if remembered { // what is remembered lives until it is passivated
		p.Strategy = passivation.Strategy{None: true}
	}
	p.Strategy = p.Strategy.WithDefaults()
}

func (p Passivation) check(f *config.Faults) {
	f.Of("Passivation.Strategy", p.Strategy.Validate())
	f.Add(p.StopTimeout < 0, "Passivation.StopTimeout", "%v is negative", p.StopTimeout)
}

// Coordination says how regions and their coordinator get on, and where the coordinator keeps its
// state. Ledger is a *ledger.Ledger for users, and no more than whether there is one for the machines.
type Coordination[Ledger any] struct {
	// Ledger keeps the homes of shards and the list of regions in a journal outside of the cluster.
	// Then a home needs no majority of the role's nodes to be known, but that journal. It is for
	// nodes without disks, with a Remember.Store; each type has its own. The same on every node of
	// the role: one that has one, and one that has none, do not run the type together. Default: the
	// role's replicated data.
	Ledger Ledger
	// MinRegions is the number of regions that must be there before the first shard gets a home.
	// Once any shard has had a home the coordinator asks for none, until the whole cluster
	// restarts. Default: ddata.Config.PerRole of the type's role, else 1.
	MinRegions int
	// RetryInterval is the longest pause between two repetitions of what another node has not
	// answered; the first comes after an eighth. Default 2 s, 100 ms on a node with ddata.Local.
	RetryInterval time.Duration
}

func (c *Coordination[Ledger]) setDefaults(local bool) {
	config.Default(&c.MinRegions, 1)
	config.Default(&c.RetryInterval, shortIf(local, 2*time.Second))
}

func (c Coordination[Ledger]) check(f *config.Faults) {
	f.Add(c.MinRegions < 1, "Coordination.MinRegions", "%d is not positive", c.MinRegions)
	f.Add(c.RetryInterval < time.Millisecond, "Coordination.RetryInterval", "%v is below 1ms", c.RetryInterval)
}

// StoreID names a store outside of the cluster: the machines know no more of one. At most StoreMax
// bytes of UTF-8; empty: there is none.
type StoreID string

// Given reports whether there is a store.
func (id StoreID) Given() bool { return id != "" }

// announcedPrefix begins the ID of a store of leases, as other nodes hear it, in which a node takes none.
const announcedPrefix = "announced: "

// announced is the ID of a store in which no lease is taken.
func (id StoreID) announced() StoreID {
	if !id.Given() {
		return ""
	}
	return announcedPrefix + id
}

// Taken reports whether a node that says so takes leases of the store.
func (id StoreID) Taken() bool {
	_, taken := id.taken()
	return taken
}

// taken is the ID of a store of leases, and whether a node that says so takes leases there.
func (id StoreID) taken() (store StoreID, taken bool) {
	name, announced := strings.CutPrefix(string(id), announcedPrefix)
	return StoreID(name), id.Given() && !announced
}

// getOn reports whether two nodes can run a type together whose stores of leases are these: both have the same one, or
// neither takes leases.
func (id StoreID) getOn(other StoreID) bool {
	store, taken := id.taken()
	others, takes := other.taken()
	return store == others || !taken && !takes
}

// Remember says whether the ids of entities are remembered, and how remembered ones start. Store is
// remember.Store for users, and no concern of the machines.
type Remember[Store any] struct {
	// Entities keeps the ids of started entities: they are started again wherever their shard goes,
	// also after a restart of the whole cluster, unless ddata.Config.DurableKeys is an empty list and
	// there is no Store. It turns automatic passivation off; an entity ends by Passivate. The same on
	// every node of the role: one that differs takes no part.
	Entities bool
	// Store keeps the ids outside of the cluster; each type has its own. One that has a method
	// EntityType() string is refused by other types. All nodes of the role give the same, proxies on
	// them too: a node with another takes no part. Stores are compared by their method ID() string, or
	// by their Go types if they have none. Default: the durable space of the role's replicated data.
	Store Store
	// Recovery says how fast shards that start somewhere start the entities that they remember:
	// RecoverAll, the default, or RecoverConstant, five every 100 ms, or other numbers. It holds
	// for all shards of the type on a node together. An entity for which a message comes does not
	// wait for its turn.
	Recovery Recovery
	// RestartBackoff is the pause before a remembered entity that ended without being passivated is
	// started again, if no message comes for it. Default 10 s.
	RestartBackoff time.Duration
}

func (r *Remember[Store]) setDefaults() {
	config.Default(&r.RestartBackoff, 10*time.Second)
	if r.Recovery.Number > 0 {
		config.Default(&r.Recovery.Interval, RecoverConstant.Interval)
	}
}

func (r Remember[Store]) check(f *config.Faults) {
	f.Add(r.RestartBackoff < 0, "Remember.RestartBackoff", "%v is negative", r.RestartBackoff)
	f.Add(r.Recovery.Number < 0, "Remember.Recovery.Number", "%d is negative", r.Recovery.Number)
	f.Add(r.Recovery.Interval < 0, "Remember.Recovery.Interval", "%v is negative", r.Recovery.Interval)
	f.Add(r.Recovery.Number == 0 && r.Recovery.Interval > 0,
		"Remember.Recovery.Interval", "is %v, but Number is 0: say how many are started per interval",
		r.Recovery.Interval)
}

// Leases says in which stores outside of the cluster leases are taken: a guard beside the views of
// the membership, for clusters that may be split by an operator's mistake, or founded twice. Store
// is locks.Store for users, and the StoreID for the machines. Both stores are the same on every
// node of the role: a node with another, or none, takes no part, unless neither takes leases.
type Leases[Store any] struct {
	// Shards is where each shard takes a lease before it starts, and gives it back when it has
	// ended. While another holds a shard's lease the shard waits, and so do its messages, in the
	// buffer. A shard that loses its lease stops at once: its handlers' contexts end, their effects
	// are refused, and what its mailboxes held is dropped with DropLeaseLost. Default: none.
	Shards Store
	// Coordinator is where the type's coordinator takes a lease before it acts; it steps down when
	// that is lost. It may be the store of Shards. Default: none.
	Coordinator Store
	// Announced says that the stores are known to this node, and no lease is taken. It is for a rolling restart that
	// introduces leases, or takes them away: a node that takes none gets on with one that has another store, or none.
	// It makes the cluster neither safer nor less so than one without leases. Default: leases are taken.
	Announced bool
	// RetryInterval is the longest pause between two tries to get a lease that another holds, and
	// the one before the first after it was lost. An eighth of it is the first between two tries,
	// and each is twice as long as the one before. Default 5 s, 100 ms on a node with ddata.Local.
	RetryInterval time.Duration
}

func (l *Leases[Store]) setDefaults(local bool) {
	config.Default(&l.RetryInterval, shortIf(local, 5*time.Second))
}

func (l Leases[Store]) check(f *config.Faults) {
	f.Add(l.RetryInterval < time.Millisecond, "Leases.RetryInterval", "%v is below 1ms", l.RetryInterval)
}

// checkLeases adds what is wrong with stores of leases.
func checkLeases(f *config.Faults, l Leases[StoreID]) {
	f.Add(l.Announced && !l.Shards.Given() && !l.Coordinator.Given(),
		"Leases.Announced", "is set, and no store is given")
	l.Shards.checkLease(f, "Leases.Shards", l.Announced)
	l.Coordinator.checkLease(f, "Leases.Coordinator", l.Announced)
}

func (id StoreID) checkLease(f *config.Faults, field string, announced bool) {
	id.check(f, field)
	f.Add(strings.HasPrefix(string(id), announcedPrefix), field, "the store's ID begins with %q: give another one",
		announcedPrefix)
	most := StoreMax - len(announcedPrefix)
	f.Add(announced && len(id) > most && storeOK(id), field,
		"the store's ID has %d bytes, and while Leases.Announced is set it may have %d", len(id), most)
}

func (id StoreID) check(f *config.Faults, field string) {
	f.Add(!storeOK(id), field, "the store's ID has %d bytes or is not UTF-8, want at most %d", len(id), StoreMax)
}

// localInterval is the default of each interval on a node with ddata.Local.
const localInterval = 100 * time.Millisecond

// shortIf is the default of an interval.
func shortIf(local bool, def time.Duration) time.Duration {
	if local {
		return localInterval
	}
	return def
}
