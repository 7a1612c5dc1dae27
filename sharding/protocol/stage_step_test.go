package protocol_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/shard"
)

func (st *stage) say(a *actor, who string, in any, fx fmt.Stringer, check error) {
	if check != nil {
		fmt.Fprintf(st.out, "BROKEN %v\n", check)
	}
	if s := fx.String(); s != "" {
		fmt.Fprintf(st.out, "%v %s ← %s\n", a.uid, who, describe(in))
		for line := range strings.Lines(s) {
			st.out.WriteString("    " + line)
		}
	}
}

// describe prints an input briefly.
func describe(in any) string {
	switch in := in.(type) {
	case protocol.Receive:
		return fmt.Sprintf("%v: %v", in.From, in.Msg)
	case protocol.Install:
		return fmt.Sprintf("install %v", in.View)
	case protocol.Wrote:
		if in.Err != nil {
			return fmt.Sprintf("wrote #%d: %v", in.ID, in.Err)
		}
		return fmt.Sprintf("wrote #%d", in.ID)
	case protocol.DidRead:
		if in.Err != nil {
			return fmt.Sprintf("did-read #%d: %v", in.ID, in.Err)
		}
		return fmt.Sprintf("did-read #%d%s%s%s%s", in.ID, protocol.ListText(in.Homes), protocol.ListText(in.Regions),
			protocol.ListText(in.Shards), protocol.ListText(in.IDs))
	case protocol.TableChanged:
		return "table" + protocol.ListText(in.Entries)
	case fmt.Stringer:
		return in.String()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T%+v", in, in), "protocol.")
}

func (st *stage) coordinator(a *actor, in protocol.CoordinatorInput) {
	fx := a.coordinator.Step(st.now, in)
	st.say(a, "coordinator", in, fx, a.coordinator.Check())
	for _, w := range fx.Write {
		st.write(w, func(err error) { st.coordinator(a, protocol.Wrote{ID: w.ID, Err: err}) })
	}
	for _, r := range fx.Read {
		st.read(r, func(in protocol.DidRead) { st.coordinator(a, in) })
	}
	st.coordinatorLease(a, fx.Lease)
	st.sendAll(a, fx.Send)
	for _, f := range slices.Clone(fx.Forward) {
		st.offer("forward", fmt.Sprintf("%v %v", a.uid, f), func() { st.coordinator(a, protocol.StartedElsewhere(f)) })
	}
}

func (st *stage) sendAll(a *actor, es []protocol.Envelope) {
	for _, e := range es {
		from := a.uid
		st.offer(strings.Fields(e.Msg.String())[0], fmt.Sprintf("%v %v", from, e),
			func() { st.deliver(from, e.To, e.Msg) })
	}
}

func (st *stage) deliver(from, to protocol.UID, m protocol.Message) {
	a := st.nodes[to]
	if a == nil {
		return
	}
	if m.ToCoordinator() {
		st.coordinator(a, protocol.Receive{From: from, Msg: m})
	} else {
		st.region(a, protocol.Receive{From: from, Msg: m})
	}
}

var errStage = errors.New("no majority")

func (st *stage) write(w protocol.StateWrite, done func(error)) {
	kind := w.Kind.String()
	st.offer("write-"+kind, w.String(), func() {
		if st.fail[kind] {
			st.later(func() { done(errStage) })
			return
		}
		st.apply(w)
		st.later(func() { done(nil) })
	})
}

func (st *stage) apply(w protocol.StateWrite) {
	for _, e := range w.Homes {
		if st.table[e.Shard].Token.Less(e.Token) {
			st.table[e.Shard] = e
		}
	}
	if len(w.Homes) > 0 {
		for _, a := range st.all() {
			if !a.cfg.Proxy {
				st.offer("table", fmt.Sprintf("table of %v", a.uid), func() {
					st.region(a, protocol.TableChanged{Entries: w.Homes})
				})
				st.later(func() { st.coordinator(a, protocol.TableChanged{Entries: w.Homes}) })
			}
		}
	}
	edit(st.set, w.AddRegions, w.RemoveRegions)
	edit(st.index, w.AddShards, w.RemoveShards)
	if w.Kind == protocol.StateIDs {
		if st.ids[w.Shard] == nil {
			st.ids[w.Shard] = map[protocol.EntityID]bool{}
		}
		edit(st.ids[w.Shard], w.AddIDs, w.RemoveIDs)
	}
}

func edit[E comparable](set map[E]bool, add, remove []E) {
	for _, e := range add {
		set[e] = true
	}
	for _, e := range remove {
		delete(set, e)
	}
}

func (st *stage) read(r protocol.StateRead, done func(protocol.DidRead)) {
	st.offer("read", r.String(), func() {
		in := protocol.DidRead{ID: r.ID}
		if st.fail["read-"+r.Kind.String()] {
			in.Err = errStage
			done(in)
			return
		}
		switch r.Kind {
		case protocol.StateHomes:
			for _, s := range slices.Sorted(maps.Keys(st.table)) {
				in.Homes = append(in.Homes, st.table[s])
			}
		case protocol.StateRegions:
			in.Regions = slices.Sorted(maps.Keys(st.set))
		case protocol.StateRemembered:
			in.Shards = slices.Sorted(maps.Keys(st.index))
		case protocol.StateIDs:
			in.IDs = slices.Sorted(maps.Keys(st.ids[r.Shard]))
		}
		done(in)
	})
}

func (st *stage) region(a *actor, in protocol.RegionInput) {
	if st.nodes[a.uid] != a {
		return
	}
	fx := a.region.Step(st.now, in)
	st.say(a, "region", in, fx, a.region.Check())
	actions := slices.Clone(fx.Do)
	st.sendAll(a, fx.Send)
	for _, act := range actions {
		st.act(a, act)
	}
}

func (st *stage) act(a *actor, act protocol.RegionAction) {
	switch act := act.(type) {
	case protocol.SendFence:
		f := protocol.Fence{Shard: act.Shard, HandOff: act.HandOff}
		st.offer("fence", fmt.Sprintf("%v →%v %v", a.uid, act.To, f), func() { st.deliver(a.uid, act.To, f) })
	case protocol.StartShard:
		m, err := shard.New(a.cfg, rand.New(rand.NewPCG(1, 1)), act.Shard)
		if err != nil {
			panic(err)
		}
		a.shards[act.Shard], a.alive[act.Shard] = m, map[protocol.EntityID]bool{}
		st.shard(a, act.Shard, protocol.Open{Wait: act.Wait})
	case protocol.DrainShard:
		st.shard(a, act.Shard, protocol.Drain{HandOff: act.HandOff})
	case protocol.StopShard:
		st.shard(a, act.Shard, protocol.Stop{HandOff: act.HandOff, Force: act.Force})
	case protocol.ResumeShard:
		st.shard(a, act.Shard, protocol.Resume{})
	case protocol.CloseShard:
		delete(a.shards, act.Shard)
	case protocol.KillShard:
		delete(a.shards, act.Shard)
		if l := st.lent[shardName(act.Shard)]; l.who == fmt.Sprint(a.uid) {
			delete(st.lent, shardName(act.Shard)) // none of its handlers runs
		}
	}
}

func (st *stage) shard(a *actor, s protocol.ShardID, in protocol.ShardInput) {
	m := a.shards[s]
	if m == nil || st.nodes[a.uid] != a {
		return
	}
	fx := m.Step(st.now, in)
	st.say(a, "shard "+s.String(), in, fx, m.Check())
	mine := func(in protocol.ShardInput) {
		if a.shards[s] == m {
			st.shard(a, s, in)
		}
	}
	for _, w := range fx.Write {
		st.write(w, func(err error) { mine(protocol.Wrote{ID: w.ID, Err: err}) })
	}
	for _, r := range fx.Read {
		st.read(r, func(in protocol.DidRead) { mine(in) })
	}
	st.shardLease(a, s, fx.Lease, mine)
	for _, act := range slices.Clone(fx.Do) {
		st.shardAct(a, s, act, mine)
	}
	for _, in := range slices.Clone(fx.Region) {
		kind := strings.Fields(describe(in))[0]
		st.offer(kind, fmt.Sprintf("%v %s", a.uid, describe(in)), func() { st.region(a, in) })
	}
}

func (st *stage) shardAct(a *actor, s protocol.ShardID, act protocol.ShardAction, mine func(protocol.ShardInput)) {
	stopped := func(id protocol.EntityID) {
		st.offer("entity-stopped", fmt.Sprintf("%v entity %v stopped", a.uid, id), func() {
			if a.alive[s][id] {
				delete(a.alive[s], id)
				mine(protocol.EntityStopped{ID: id})
			}
		})
	}
	switch act := act.(type) {
	case protocol.StartEntities:
		for _, id := range act.IDs {
			a.alive[s][id] = true
		}
	case protocol.StopEntity:
		stopped(act.ID)
	case protocol.StopEntities:
		for _, id := range slices.Sorted(maps.Keys(a.alive[s])) {
			stopped(id)
		}
	case protocol.DrainMailboxes:
		st.offer("mailboxes-empty", fmt.Sprintf("%v mailboxes of %v empty", a.uid, s), func() {
			mine(protocol.MailboxesEmpty(act))
		})
	}
}
