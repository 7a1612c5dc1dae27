package coordinator

import (
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// term is the time for which a coordinator is on the member in charge, and, with CoordinatorLease,
// holds its lease. All that belongs to one term is here, so that the next one begins without it.
//
// The parts decide about what they own. The term hears messages and completions, and passes what
// follows from one part to the next.
type term struct {
	*env
	mode mode

	homes      homes
	chooser    chooser
	registrar  registrar
	store      store
	takeover   takeover
	roles      roles
	outOfRange outOfRange
	rollouts   rollouts
	remembered protocol.StateRead // under way or failed; ID 0: done
	kept       protocol.Token     // the lowest of the hostings that this term has found; zero: none

	retryAt     time.Time
	rebalanceAt time.Time
}

type mode uint8

const (
	idle mode = iota
	leaseWaiting
	reading
	inquiring
	active
)

var modeNames = [...]string{"idle", "lease-waiting", "reading", "inquiring", "active"}

// newTerm makes a term that has not begun.
func newTerm(e *env) term {
	return term{
		env: e, homes: newHomes(e), chooser: chooser{env: e}, registrar: registrar{env: e},
		store: store{env: e, writes: map[uint64]protocol.StateWrite{}}, roles: roles{env: e},
		outOfRange: outOfRange{env: e}, rollouts: rollouts{env: e},
	}
}

// onReceive takes a message to a coordinator that acts.
func (tm *term) onReceive(from protocol.UID, m protocol.Message) {
	switch m := m.(type) {
	case protocol.Register:
		tm.onRegister(from, m)
		tm.store.sayFailing(&tm.homes.out, from)
	case protocol.Confirm:
		if tm.registrar.onConfirm(&tm.homes, from, m) {
			tm.allocateAll()
		}
	case protocol.GetHomes:
		tm.onGetHomes(from, m.Shards)
		tm.store.sayFailing(&tm.homes.out, from)
	case protocol.Started:
		tm.homes.onStarted(from, m.Shards)
	case protocol.BeginAck:
		tm.homes.onBeginAck(from, m.Shards)
	case protocol.ShardsStopped:
		tm.homes.onShardsStopped(from, m.Shards)
		tm.allocateAll()
	case protocol.LeaveRequest:
		if tm.registrar.onLeaveRequest(&tm.homes, from, m) {
			tm.allocateAll()
		}
	case protocol.StopShards:
		tm.homes.onStopShards(from, m.Shards)
	case protocol.Loads:
		tm.homes.onLoads(from, m)
	case protocol.Unable:
		tm.onUnable(from, m.Shards)
	case protocol.AbsentReport:
		tm.onAbsentReport(from, m)
	case protocol.Report:
		tm.counts[protocol.CountLate]++
	default:
		tm.counts[protocol.CountOtherRole]++
	}
}

// onEarly takes what may come before the coordinator acts: reports, and what is kept for later.
func (tm *term) onEarly(from protocol.UID, m protocol.Message) {
	t := &tm.takeover
	if !tm.view.Has(from) {
		tm.counts[protocol.CountOtherRole]++
		return
	}
	switch m := m.(type) {
	case protocol.Report:
		if tm.mode == inquiring && tm.lease {
			tm.onReport(from, m)
		}
	case protocol.AbsentReport:
		if tm.mode == inquiring && tm.lease {
			tm.onAbsentReport(from, m)
		}
	case protocol.Register:
		t.registers[from] = m
		tm.store.sayFailing(&tm.homes.out, from)
	default:
		tm.counts[protocol.CountNotActing]++
	}
}

// retry repeats what has not been answered.
func (tm *term) retry() {
	if !tm.lease {
		return
	}
	tm.store.retryWrites(tm.homes.stands)
	tm.store.alarmFailures()
	if tm.mode >= reading {
		tm.roles.ask(&tm.homes.out)
	}
	switch tm.mode {
	case reading, inquiring:
		tm.retryTakeover()
	case active:
		tm.store.retryRead(&tm.remembered)
		tm.outOfRange.retry(&tm.store)
		if tm.homes.regions.takeBackIn() {
			tm.homes.picture.changed()
		}
		tm.registrar.retryWelcomes(&tm.homes)
		tm.homes.retryHosts()
		tm.homes.retryMoves()
		tm.registrar.drainLeaving(&tm.homes)
		tm.chooser.maybeOverdue(&tm.homes)
		tm.rollouts.look()
		tm.allocateAll()
	}
}

func (tm *term) onRegister(from protocol.UID, m protocol.Register) {
	if tm.registrar.onRegister(&tm.homes, from, m) {
		tm.allocateAll()
	}
}

// onGetHomes answers what is known and finds homes for the rest. A region that asks for a moving
// shard gets its answer when the shard has a home.
func (tm *term) onGetHomes(from protocol.UID, shards []protocol.ShardID) {
	if p := tm.homes.regions.peers[from]; p == nil || !p.acked {
		tm.counts[protocol.CountOtherRole]++ // it would not be told of the next hand-off
		return
	}
	for _, s := range shards {
		tm.homes.ask(from, s)
	}
	tm.allocateAll()
}

// onRemembered finds homes for shards that have remembered ids and live nowhere.
func (tm *term) onRemembered(shards []protocol.ShardID) {
	if tm.mode != active {
		if tm.mode > leaseWaiting {
			tm.takeover.shards = append(tm.takeover.shards, shards...)
		}
		return
	}
	for _, s := range shards {
		if int64(s) >= int64(len(tm.homes.shards)) {
			tm.outOfRange.add(&tm.store, s)
			continue
		}
		tm.homes.remember(s)
	}
	tm.allocateAll()
}

// onWrote goes on with the decisions that a majority knows, as far as they still stand.
func (tm *term) onWrote(id uint64, err error) {
	w, ok := tm.store.wrote(id, err)
	if !ok {
		return
	}
	for _, e := range w.Homes {
		tm.homes.written(e)
	}
	for _, u := range w.AddRegions {
		tm.registrar.onRegionWritten(&tm.homes, u)
	}
	if w.Kind == protocol.StateIDs || w.Kind == protocol.StateRemembered {
		tm.outOfRange.onWritten(&tm.store, w)
	}
	tm.allocateAll()
}

// onTable looks for entries that this coordinator has not written.
func (tm *term) onTable(es []protocol.Entry) {
	if tm.mode != active {
		return
	}
	for _, e := range es {
		tm.homes.overtaken(e)
	}
	tm.allocateAll()
}

// onUnable moves shards away from a region that cannot use the store of their leases.
func (tm *term) onUnable(from protocol.UID, shards []protocol.ShardID) {
	if p := tm.homes.regions.peers[from]; p == nil || !tm.cfg.Leases.Shards.Given() {
		tm.counts[protocol.CountOtherRole]++
		return
	}
	tm.homes.passOver(from)
	for _, s := range shards {
		st, ok := tm.homes.at(s)
		if ok && st.state == stateHosted && st.home == from && !tm.view.Closing && tm.homes.regions.mayAllocate() &&
			!tm.homes.regions.mayHost(from) &&
			tm.homes.regions.mayTry(s, &tm.homes.shards[tm.homes.regions.leaseBackoff.shard]) {
			tm.homes.startMove(s)
		}
	}
}

// onInstall goes on in a new view. The shards of a member that is gone get new homes at once.
func (tm *term) onInstall() {
	switch tm.mode {
	case inquiring:
		tm.forgetReports()
	case active:
		tm.homes.picture.regionsChanged(tm.now)
		if gone := tm.homes.regions.dropGone(); len(gone) > 0 {
			tm.homes.out.writeRegions(nil, gone)
			tm.homes.dropGone(gone)
		}
		tm.registrar.drainLeaving(&tm.homes)
		tm.allocateAll()
	}
}

func (tm *term) onStartedElsewhere(ids []protocol.EntityID) {
	tm.outOfRange.onStartedElsewhere(&tm.store, ids)
}

func (tm *term) onLocations(in protocol.LocationsChanged) {
	if tm.mode > leaseWaiting {
		tm.homes.picture.follow(in)
	}
}

func (tm *term) onAdvised(a allocation.Advice) {
	tm.chooser.advised(&tm.homes, a, tm.mode == active)
}

func (tm *term) allocateAll() { tm.chooser.allocateAll(&tm.homes) }

func (tm *term) rebalance() { tm.chooser.rebalance(&tm.homes) }

func (tm *term) flush() { tm.homes.out.flush(tm.env, &tm.store) }

// onAbsentReport takes the word of a member on which the type was not started: it hosts nothing,
// and what will be started there obeys no earlier coordinator.
func (tm *term) onAbsentReport(from protocol.UID, m protocol.AbsentReport) {
	if m.Floor != tm.registrar.floor || tm.homes.regions.peers[from] != nil {
		tm.counts[protocol.CountLate]++
		return
	}
	tm.absent[from] = true
	if tm.mode == inquiring {
		tm.takeover.reported(from)
		tm.maybeActivate()
	}
}
