package protocol_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	"github.com/coterie-go/coterie/sharding/protocol/shard"
)

// stage is where scripts play: the machines of a few nodes, stepped one input at a time. Nothing is
// lost unless the script says so.
type stage struct {
	out   *bytes.Buffer
	now   time.Time
	cfg   protocol.Config
	nodes map[protocol.UID]*actor
	queue []func()

	hold  map[string]bool // kinds of messages and inputs that wait; see holds
	held  []heldItem
	fail  map[string]bool // kinds of state whose writes fail
	table map[protocol.ShardID]protocol.Entry
	set   map[protocol.UID]bool // regions
	lent  map[string]lent       // leases
	index map[protocol.ShardID]bool
	ids   map[protocol.ShardID]map[protocol.EntityID]bool
	epoch view.Epoch
	lines view.Lines
}

type heldItem struct {
	kind, text string
	do         func()
}

type actor struct {
	uid         protocol.UID
	coordinator *coordinator.Coordinator
	region      *region.Region
	cfg         protocol.Config
	shards      map[protocol.ShardID]*shard.Shard
	alive       map[protocol.ShardID]map[protocol.EntityID]bool
	timers      map[string]time.Time
}

func newStage(out *bytes.Buffer) *stage {
	return &stage{
		out: out, now: time.Unix(0, 0), cfg: protocol.Config{
			Identity: protocol.Identity{
				Name: "t", Role: "r", Shards: 4, ShardOf: protocol.ShardFunc{Name: "last digit", Of: lastDigit},
			},
			Rebalance: protocol.Rebalance{Interval: -1},
		},
		nodes: map[protocol.UID]*actor{}, hold: map[string]bool{},
		fail: map[string]bool{}, table: map[protocol.ShardID]protocol.Entry{}, lent: map[string]lent{},
		set: map[protocol.UID]bool{}, index: map[protocol.ShardID]bool{},
		ids: map[protocol.ShardID]map[protocol.EntityID]bool{},
	}
}

// lastDigit is the shard of an id in a script: "a2" belongs to shard 2.
func lastDigit(id string) protocol.ShardID { return number32(id[len(id)-1:]) }

func (st *stage) command(f []string) error {
	args := f[1:]
	switch f[0] {
	case "cluster":
		return st.configure(args)
	case "view":
		return st.view(args)
	case "lease":
		st.lease(st.node(args[0]), args[1] == "on")
	case "wanted":
		st.region(st.node(args[0]), protocol.Wanted{Shard: number32(args[1])})
	case "stop":
		in := protocol.StopShards{}
		for _, s := range args[1:] {
			in.Shards = append(in.Shards, number32(s))
		}
		st.region(st.node(args[0]), in)
	case "leave":
		st.region(st.node(args[0]), protocol.Leave{})
	case "quit":
		st.region(st.node(args[0]), protocol.Quit{})
	case "balance":
		st.coordinator(st.node(args[0]), protocol.BalanceNow{})
	case "resign":
		st.coordinator(st.node(args[0]), protocol.Resign{})
	case "linkup":
		st.region(st.node(args[0]), protocol.LinkUp{Peer: st.node(args[1]).uid})
	case "wake":
		st.shard(st.node(args[0]), number32(args[1]), protocol.Wake{ID: protocol.EntityID(args[2])})
	case "passivate":
		in := protocol.Passivate{ID: protocol.EntityID(args[2])}
		if len(args) > 3 {
			in.Cause = causeOf(args[3])
		}
		st.shard(st.node(args[0]), number32(args[1]), in)
	case "ended":
		a, s := st.node(args[0]), number32(args[1])
		delete(a.alive[s], protocol.EntityID(args[2]))
		st.shard(a, s, protocol.EntityStopped{ID: protocol.EntityID(args[2])})
	case "elsewhere":
		in := protocol.StartedElsewhere{}
		for _, id := range args[2:] {
			in.IDs = append(in.IDs, protocol.EntityID(id))
		}
		st.shard(st.node(args[0]), number32(args[1]), in)
	case "unlisted": // no coordinator orders it
		delete(st.index, number32(args[1]))
		st.shard(st.node(args[0]), number32(args[1]), protocol.Unlisted{})
	case "vanish": // an id; no coordinator orders it
		delete(st.ids[number32(args[1])], protocol.EntityID(args[2]))
		st.shard(st.node(args[0]), number32(args[1]), protocol.IDsChanged{
			Removed: []protocol.EntityID{protocol.EntityID(args[2])},
		})
	case "remember":
		for _, id := range args[1:] {
			st.apply(protocol.StateWrite{
				Kind: protocol.StateIDs, Shard: number32(args[0]), AddIDs: []protocol.EntityID{protocol.EntityID(id)},
			})
		}
		st.index[number32(args[0])] = true
	case "reachable":
		st.coordinator(st.node("1"), protocol.Reachable{UID: protocol.UID(number32(args[0])), OK: args[1] == "on"})
	case "crash":
		delete(st.nodes, st.node(args[0]).uid)
	case "hold", "release":
		for _, k := range args {
			st.hold[k] = f[0] == "hold"
		}
	case "forget":
		st.held = slices.DeleteFunc(st.held, func(h heldItem) bool { return h.kind == args[0] })
	case "fail", "mend":
		st.fail[strings.Join(args, " ")] = f[0] == "fail"
	case "entry": // of the table, without a coordinator: "entry 2→3@1.1.99"
		shard, rest, _ := strings.Cut(args[0], "→")
		home, tok, _ := strings.Cut(rest, "@")
		st.apply(protocol.StateWrite{
			Kind: protocol.StateHomes, Homes: []protocol.Entry{
				{Shard: number32(shard), Home: protocol.UID(number32(home)), Token: tokenOf(tok)},
			},
		})
	case "occupy":
		st.occupy(args)
	case "vacate":
		st.vacate(args)
	case "inject":
		return st.inject(args)
	case "tick":
		d, err := time.ParseDuration(args[0])
		st.tick(d)
		return err
	case "state":
		st.print(st.node(args[0]))
		return nil
	case "restart": // of the whole cluster: the volatile state is gone
		clear(st.nodes)
		clear(st.table)
		clear(st.set)
		st.queue, st.held = nil, nil
		return nil
	default:
		return fmt.Errorf("unknown command")
	}
	st.run()
	return nil
}

func (st *stage) configure(args []string) error {
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		switch k {
		case "shards":
			st.cfg.Shards = int(number32(v))
		case "leases":
			st.cfg.Leases.Shards = "store"
		case "coordinatorlease":
			st.cfg.Leases.Coordinator = "store"
		case "remember":
			st.cfg.Remember.Entities = true
		case "recovery": // number/interval
			n, every, _ := strings.Cut(v, "/")
			d, err := time.ParseDuration(every)
			if err != nil {
				return err
			}
			st.cfg.Remember.Recovery = protocol.Recovery{Number: int(number32(n)), Interval: d}
		case "minregions":
			st.cfg.Coordination.MinRegions = int(number32(v))
		case "rebalance":
			st.cfg.Rebalance.Interval = 10 * time.Second
		case "delay":
			d, err := time.ParseDuration(v)
			if err != nil {
				return err
			}
			st.cfg.Rebalance.Delay = d
		default:
			return fmt.Errorf("unknown setting %q", k)
		}
	}
	return nil
}

func number32(s string) protocol.ShardID {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		panic(err)
	}
	return protocol.ShardID(n)
}

func (st *stage) node(s string) *actor {
	a := st.nodes[protocol.UID(number32(s))]
	if a == nil {
		panic("no node " + s)
	}
	return a
}

// view installs the next view on all nodes: "1:up 2:leaving p3:up 4:up:2" with p for a node without
// the role, and an app version after the status.
func (st *stage) view(args []string) error {
	st.epoch++
	v := &view.View{Epoch: st.epoch, Lines: st.lines}
	for _, a := range args {
		if a == "closing" {
			v.Closing = true
			continue
		}
		name, status, _ := strings.Cut(a, ":")
		status, version, _ := strings.Cut(status, ":")
		id, proxy := strings.CutPrefix(name, "p")
		m := view.Member{
			UID: protocol.UID(number32(id)), UpNumber: uint32(number32(id)), AppVersion: cmp.Or(version, "1"),
		}
		if !proxy {
			m.Roles = []string{"r"}
		}
		m.Status = map[string]view.Status{
			"joining": view.Joining, "up": view.Up, "leaving": view.Leaving,
		}[status]
		if m.Status == 0 {
			return fmt.Errorf("status %q", status)
		}
		v.Members = append(v.Members, m)
		if st.nodes[m.UID] == nil {
			st.add(m.UID, proxy)
		}
	}
	v.Enlist(func(view.UID) []view.Service { return []view.Service{st.cfg.Service()} })
	st.lines = v.Lines
	for _, a := range st.all() {
		kind, text := fmt.Sprintf("view-%v", a.uid), fmt.Sprintf("view e%d of %v", v.Epoch, a.uid)
		st.offer(kind, text, func() { st.region(a, protocol.Install{View: v}) })
		st.offer(kind, text, func() { st.coordinator(a, protocol.Install{View: v}) })
	}
	return nil2(st.run)
}

func nil2(f func()) error { f(); return nil }

func (st *stage) add(u protocol.UID, proxy bool) {
	cfg := st.cfg
	cfg.Self, cfg.Proxy, cfg.Turns = u, proxy, &protocol.Turns{}
	a := &actor{
		uid: u, cfg: cfg, shards: map[protocol.ShardID]*shard.Shard{},
		alive: map[protocol.ShardID]map[protocol.EntityID]bool{}, timers: map[string]time.Time{},
	}
	var err error
	if a.region, err = region.New(cfg, rand.New(rand.NewPCG(1, uint64(u)))); err != nil {
		panic(err)
	}
	if a.coordinator, err = coordinator.New(cfg, rand.New(rand.NewPCG(2, uint64(u)))); err != nil {
		panic(err)
	}
	st.nodes[u] = a
	st.lease(a, true)
}

func (st *stage) all() []*actor {
	var as []*actor
	for _, u := range slices.Sorted(maps.Keys(st.nodes)) {
		as = append(as, st.nodes[u])
	}
	return as
}

func (st *stage) lease(a *actor, held bool) {
	st.region(a, protocol.LeaseChanged{Held: held})
	st.coordinator(a, protocol.LeaseChanged{Held: held})
}

func (st *stage) later(do func()) { st.queue = append(st.queue, do) }

// offer carries something out later, or keeps it while its kind is held.
func (st *stage) offer(kind, text string, do func()) {
	st.later(func() {
		if st.holds(kind, text) {
			fmt.Fprintf(st.out, "  held: %s\n", text)
			st.held = append(st.held, heldItem{kind: kind, text: text, do: do})
			return
		}
		do()
	})
}

// holds reports whether something is kept back: its kind is, or that of one sender, "fence<4", or
// of one receiver, "begin>2".
func (st *stage) holds(kind, text string) bool {
	from, rest, _ := strings.Cut(text, " ")
	to, _, _ := strings.Cut(strings.TrimPrefix(rest, "→"), " ")
	return st.hold[kind] || st.hold[kind+"<"+from] || st.hold[kind+">"+to]
}

func (st *stage) run() {
	held := st.held
	st.held = nil
	for _, h := range held {
		if st.holds(h.kind, h.text) {
			st.held = append(st.held, h)
		} else {
			st.later(h.do)
		}
	}
	for len(st.queue) > 0 {
		do := st.queue[0]
		st.queue = st.queue[1:]
		do()
	}
}

// tick moves time on and steps every machine whose deadline has come, each once.
func (st *stage) tick(d time.Duration) {
	st.now = st.now.Add(d)
	due := func(t time.Time) bool { return !t.IsZero() && !st.now.Before(t) }
	for _, a := range st.all() {
		if due(a.coordinator.Deadline()) {
			st.coordinator(a, protocol.Tick{})
		}
		if due(a.region.Deadline()) {
			st.region(a, protocol.Tick{})
		}
		for _, s := range slices.Sorted(maps.Keys(a.shards)) {
			if due(a.shards[s].Deadline()) {
				st.shard(a, s, protocol.Tick{})
			}
		}
	}
	st.run()
}

func (st *stage) print(a *actor) {
	fmt.Fprintf(st.out, "%v\n%v\n", a.coordinator, a.region)
	for _, s := range slices.Sorted(maps.Keys(a.shards)) {
		fmt.Fprintf(st.out, "%v\n", a.shards[s])
	}
}

func tokenOf(s string) protocol.Token {
	p := strings.Split(s, ".")
	return protocol.Token{Epoch: uint64(number32(p[0])), Up: uint32(number32(p[1])), Seq: uint64(number32(p[2]))}
}

// inject delivers a message that no machine has sent: "3>1 stopped 0@1.1.5".
func (st *stage) inject(args []string) error {
	from, to, _ := strings.Cut(args[0], ">")
	shard, tok, _ := strings.Cut(args[2], "@")
	t := protocol.ShardToken{Shard: number32(shard), Token: tokenOf(tok)}
	m := map[string]protocol.Message{
		"stopped":   protocol.ShardsStopped{Shards: []protocol.ShardToken{t}},
		"started":   protocol.Started{Shards: []protocol.ShardToken{t}},
		"host":      protocol.HostShards{Shards: []protocol.ShardToken{t}},
		"begin-ack": protocol.BeginAck{Shards: []protocol.ShardToken{t}},
		"fence":     protocol.Fence{Shard: t.Shard, HandOff: t.Token},
		"home": protocol.Homes{
			Sure: true, Entries: []protocol.Entry{{Shard: t.Shard, Home: protocol.UID(number32(from)), Token: t.Token}},
		},
	}[args[1]]
	if m == nil {
		return fmt.Errorf("cannot inject %q", args[1])
	}
	st.deliver(protocol.UID(number32(from)), st.node(to).uid, m)
	st.run()
	return nil
}

func causeOf(name string) protocol.Cause {
	c := protocol.CauseRequest
	for c < protocol.CauseEnd && c.String() != name {
		c++
	}
	return c
}

// phaseOf is how far a shard is, as it prints itself.
func phaseOf(m *shard.Shard) string { return strings.Fields(m.String())[2] }
