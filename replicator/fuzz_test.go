package replicator

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// FuzzStep drives a small world whose bounds are narrow: what the users of its machines ask, what
// the disks answer, time, views, crashes, and messages that arrive, get lost, come twice, from
// another, or with some bytes changed. Machines must not panic, their invariants hold after every
// step (node.step sees to that), a process starts with what the last one has committed, and no
// message makes them allocate more than what it weighs.
func FuzzStep(f *testing.F) {
	for _, seed := range stepSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newStepPlay(t, b)
		for range min(playMax, len(b)/actBytes) {
			p.args, p.rest = p.rest[:actBytes], p.rest[actBytes:]
			p.act()
		}
		p.end()
	})
}

// stepSeeds are plays of one kind each, by the numbers of act: writes only at first, then what the
// kind is about.
func stepSeeds() [][]byte {
	var seeds [][]byte
	for i, kind := range [][]byte{
		{0, 3, 4, 15},             // a calm world
		{0, 0, 3, 4, 9, 10},       // a bad network
		{0, 4, 7, 7, 8, 10},       // bad messages
		{0, 3, 5, 11, 12, 13, 15}, // disks, crashes and views
		{0, 13, 10, 15, 7, 14},    // repairs and settlement, with bad messages
		{0, 0, 10, 15, 10, 13},    // what expires and is folded
	} {
		for first := range 4 {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(first)))
			seed := make([]byte, 0, 60*actBytes+first)
			for n := range 60 {
				act := kind[0]
				if n > 8 {
					act = kind[rng.IntN(len(kind))]
				}
				seed = append(seed, act)
				for range actBytes - 1 {
					seed = append(seed, byte(rng.IntN(256)))
				}
			}
			seed = seed[:cap(seed)] // its length chooses the settings
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

const (
	actBytes = 8                // what it is, and its details
	playMax  = 200              // acts
	allocMax = 32 << 20         // bytes that a play allocates at the most,
	allocAct = 256 << 10        // and for each act
	backlog  = 2000             // packets on their way; older ones are lost
	playTime = 20 * time.Second // from act to act at the most
)

// stepPlay reads what happens from bytes.
type stepPlay struct {
	*world
	rest  []byte // acts to come
	args  []byte // of this one
	epoch uint64
	id    crdt.Origin // of the youngest process
	acts  int
	sent  int    // bytes of what arrived one by one
	alloc uint64 // by all before
}

// newStepPlay begins a world of three.
func newStepPlay(t *testing.T, b []byte) *stepPlay {
	cfg := settings.Config{
		DurableKeys: []string{"d/*"}, Expire: map[string]time.Duration{
			"v/x*": 2 * time.Second, "d/x*": 3 * time.Second,
		}, PreferOldest: true,
		GossipInterval: 500 * time.Millisecond, OperationTimeout: 2 * time.Second,
		RetryInterval: 100 * time.Millisecond, DonorExpiry: time.Second,
		BatchRowsMax: 2, FrameMax: 512, GroupMax: 4096, PushFlight: 1, PushWindow: 512, BacklogMax: 1024, LargeKey: 256,
		PendingMax: 12, LogMax: 12,
		DonorsMax:    2,
		SuppliersMax: 2, SketchCells: 70, SketchFrom: 1, SketchMax: 128, PieceWindow: 2, StepItems: 3,
	}
	p := &stepPlay{world: newWorld(t, 1, cfg), rest: b}
	switch len(b) % 4 {
	case 0:
		p.cfg.WriteBehind = 50 * time.Millisecond
	case 1:
		p.cfg.SketchCells, p.cfg.LogMax, p.cfg.SketchMax = -1, 1, 64
	case 2:
		p.cfg.BatchRowsMax, p.cfg.SketchFrom, p.cfg.StepItems = 0, 0, 0
	}
	for range 3 {
		p.begin(nil, 0)
	}
	p.install(p.view(true))
	p.quiet()
	p.after = func(n *node) { p.bounded(n) }
	p.alloc = allocated()
	return p
}

// byte takes the next byte of the act; 0 when there is none.
func (p *stepPlay) byte() byte {
	if len(p.args) == 0 {
		return 0
	}
	b := p.args[0]
	p.args = p.args[1:]
	return b
}

func (p *stepPlay) below(n int) int { return int(p.byte()) % n }

func (p *stepPlay) alive() []*node {
	return slices.DeleteFunc(slices.Clone(p.nodes), func(n *node) bool { return n.down })
}

func (p *stepPlay) some() *node {
	all := p.alive()
	return all[p.below(len(all))]
}

// begin starts a process: with the disk of a crashed one, or a new one.
func (p *stepPlay) begin(disk *rows, diskID uint64) {
	p.id++
	if disk == nil {
		diskID = uint64(p.id)
	}
	p.start(p.id, disk, diskID)
}

// view makes the next view from all live nodes. Some of them may be learners, or may be left out.
func (p *stepPlay) view(founded bool) replica.View {
	p.epoch++
	v := replica.View{Epoch: p.epoch, Founded: founded}
	for _, n := range p.alive() {
		m := replica.Member{ID: n.id, UpNumber: uint32(n.id), Disk: n.diskID}
		switch b := p.below(8); {
		case founded || b < 5:
			v.Voters = append(v.Voters, m)
		case b < 7:
			v.Learners = append(v.Learners, m)
		}
	}
	if len(v.Voters) == 0 {
		v.Voters, v.Learners = v.Learners, nil
	}
	return v
}

// act is one thing that happens.
func (p *stepPlay) act() {
	p.acts++
	switch p.below(16) {
	case 0, 1, 2:
		p.write(p.some())
	case 3:
		p.ask(p.some())
	case 4, 5, 6:
		for range 1 + p.below(32) {
			p.arrive(func(b []byte) []byte { return b })
		}
	case 7:
		p.arrive(p.changed)
	case 8:
		p.arrive(func(b []byte) []byte { return b[:p.below(len(b))] })
	case 9: // lost, late or doubled
		switch how := p.below(3); {
		case len(p.net) == 0:
		case how == 0:
			p.net = p.net[1:]
		case how == 1:
			p.net = append(p.net[1:], p.net[0])
		default:
			p.net = append(p.net, p.net[0])
		}
	case 10:
		p.pass()
	case 11, 12:
		n := p.some()
		n.disk.bad = p.below(4) == 0
		n.persist()
		n.disk.bad = false
	case 13:
		p.change()
	case 14:
		p.some().step(Reachable{Origin: crdt.Origin(p.below(8)), Is: p.below(2) == 0})
	case 15:
		p.quiet()
	}
	if len(p.net) > backlog {
		p.net = p.net[len(p.net)-backlog:]
	}
}

// write changes a key.
func (p *stepPlay) write(n *node) {
	key, elem, level := p.key(), fmt.Sprint(p.below(5)), p.level()
	p.seq++
	up := Update{ID: p.seq, Key: key, Write: level, Timeout: time.Duration(p.below(3)) * time.Second}
	switch p.below(12) {
	case 0, 1, 2, 3:
		up.Mutate = crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Add(elem) })
	case 4:
		elem += strings.Repeat("x", 300*p.below(20))
		up.Mutate = crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Add(elem) })
	case 5, 6:
		up.Mutate = crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Remove(elem) })
	case 7:
		up.Key += "#"
		up.Mutate = crdt.Mutate[crdt.PNCounter](func(c *crdt.PNCounterTx) error {
			return c.Increment(int64(p.below(9)) - 4)
		})
	case 8:
		up.Key += "%"
		up.Mutate = crdt.Mutate[crdt.NodeSet[string]](func(s *crdt.NodeSetTx[string]) error { return s.Add(elem) })
	case 9:
		up.Mutate = crdt.Mutate[crdt.LWWRegister[string]](func(r *crdt.LWWRegisterTx[string]) error {
			return r.Put(elem)
		})
	case 10:
		n.step(Delete{ID: p.seq, Key: key, Write: level})
		return
	case 11:
		n.step(DeleteForever{ID: p.seq, Key: key, Write: level})
		return
	}
	n.step(up)
}

// ask reads, subscribes or withdraws.
func (p *stepPlay) ask(n *node) {
	switch p.below(6) {
	case 0:
		n.step(Subscribe{ID: uint64(p.below(4)), Key: p.key()})
	case 1:
		n.step(Subscribe{ID: uint64(p.below(4)), Prefix: "v/", All: true})
	case 2:
		n.step(Unsubscribe{ID: uint64(p.below(4))})
	case 3:
		n.step(Cancel{IDs: []uint64{p.seq - uint64(p.below(8)), p.seq}})
	default:
		n.get(p.key(), p.level())
	}
}

func (p *stepPlay) key() string {
	return [...]string{"v/a", "v/b", "d/a", "d/b", "v/x", "d/x"}[p.below(6)]
}

func (p *stepPlay) level() quorum.Level {
	return [...]quorum.Level{
		quorum.Local, quorum.Majority, quorum.All, quorum.To(2), quorum.MajorityPlus(1, 2), quorum.Linearizable,
	}[p.below(6)]
}

// arrive takes a packet off the net and hands over what becomes of its bytes: to whom it was sent,
// or to another, from the sender, or from another.
func (p *stepPlay) arrive(hand func([]byte) []byte) {
	if len(p.net) == 0 {
		return
	}
	i := p.below(4) * (len(p.net) - 1) / 3
	k := p.net[i]
	p.net = slices.Delete(p.net, i, i+1)
	n, from := p.node(k.to), k.from
	switch p.below(16) {
	case 14:
		n = p.some()
	case 15:
		from = crdt.Origin(p.below(8))
	}
	if n == nil || p.cut[[2]crdt.Origin{from, n.id}] {
		return
	}
	b := hand(wire.Append(nil, k.msg))
	p.sent += len(b)
	msg, err := wire.Decode(b)
	if err != nil {
		msg = nil
	}
	n.step(&Receive{From: from, Msg: msg})
}

// changed replaces a few bytes.
func (p *stepPlay) changed(b []byte) []byte {
	for range 1 + p.below(3) {
		b[p.below(256)*len(b)/256] = p.byte()
	}
	return b
}

// pass lets time pass, to the next deadline or beyond it.
func (p *stepPlay) pass() {
	d := time.Duration(p.below(256)) * time.Duration(p.below(256)) * playTime / (256 * 256)
	p.now = p.now.Add(d)
	for _, n := range p.alive() {
		if at := n.m.Deadline(); !at.IsZero() && !at.After(p.now) {
			n.step(Tick{})
		}
	}
}

// change changes which nodes are there and how they are connected.
func (p *stepPlay) change() {
	switch p.below(6) {
	case 0, 1:
		p.install(p.view(false))
	case 2:
		p.some().step(Install{p.view(false)})
	case 3:
		n := p.some()
		if len(p.alive()) == 1 || p.id >= 7 {
			return
		}
		n.crash()
		if p.below(4) > 0 {
			p.begin(n.disk, n.diskID)
		}
	case 4:
		if p.id < 7 {
			p.begin(nil, 0)
		}
	case 5:
		if a, b := p.some(), p.some(); p.below(2) == 0 {
			p.sever(a.id, b.id)
		} else {
			p.mendAll()
		}
	}
}

// bounded holds what a machine keeps against what its config allows.
func (p *stepPlay) bounded(n *node) {
	m := n.m
	for _, s := range m.spaces {
		if s.intake.Bytes() > m.site.Cfg.PushWindow && s.intake.Waits() > 1 ||
			s.Store.LogLen() > m.site.Cfg.LogMax {
			p.t.Fatalf("%d bytes wait, the log holds %d events\n%v", s.intake.Bytes(), s.Store.LogLen(), m)
		}
	}
	for _, o := range m.site.Peers {
		for _, groups := range []bool{true, false} {
			if n, bytes := o.Flows.Waiting(groups); o.Coming.Bytes() > m.site.FlowMax() ||
				bytes > m.site.Cfg.GroupMax && n > 1 {
				p.t.Fatalf("%d bytes have come, %d wait\n%v", o.Coming.Bytes(), bytes, m)
			}
		}
	}
}

// end holds what was allocated against what has happened.
func (p *stepPlay) end() {
	if n := allocated() - p.alloc; n > allocMax+allocAct*uint64(p.acts) {
		p.t.Fatalf("%d bytes were allocated in %d acts, for messages of %d", n, p.acts, p.sent)
	}
}

func allocated() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.TotalAlloc
}
