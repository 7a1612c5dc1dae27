package rows_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/durable/rows"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/storage"
	"github.com/coterie-go/coterie/replicator/wire"
)

// partRows is small, so that a repair of some hundred items takes many parts.
const partRows = 32

// pair is two machines, the network between them, and the table of the second. Only the first's
// disk answers by itself.
type pair struct {
	t     *testing.T
	now   time.Time
	nodes [2]*replicator.Machine
	ids   [2]crdt.Origin
	net   []func()
	table durable.Table
	out   []storage.Batch // of the second
}

func (p *pair) start(i int, id crdt.Origin, l replicator.Loaded) {
	p.t.Helper()
	cfg := settings.Config{Self: id, DurableKeys: []string{"*"}, LogMax: 1, BatchRowsMax: partRows}
	m, err := replicator.New(cfg, rand.New(rand.NewPCG(uint64(id), 1)), l)
	if err != nil {
		p.t.Fatalf("it does not start: %v", err)
	}
	p.nodes[i], p.ids[i] = m, id
}

func (p *pair) step(i int, in replicator.Input) {
	var sync []storage.Batch
	fx := p.nodes[i].Step(p.now, in)
	for _, b := range fx.Persist {
		if i == 1 {
			p.out = append(p.out, b)
		} else {
			sync = append(sync, b)
		}
	}
	for _, e := range fx.Send {
		if to := 1 - i; e.To == p.ids[to] {
			raw := wire.Append(nil, e.Msg)
			from, uid := p.ids[i], e.To
			p.net = append(p.net, func() {
				if msg, err := wire.Decode(raw); err != nil {
					p.t.Fatal(err)
				} else if uid == p.ids[to] {
					p.step(to, &replicator.Receive{From: from, Msg: msg})
				}
			})
		}
	}
	for _, b := range sync {
		p.step(i, replicator.Persisted{ID: b.ID})
	}
}

// install gives both a view of both.
func (p *pair) install(epoch uint64, founded bool) {
	v := replica.View{Epoch: epoch, Founded: founded}
	for i, id := range p.ids {
		v.Voters = append(v.Voters, replica.Member{ID: id, UpNumber: uint32(i + 1), Disk: uint64(i + 1)})
	}
	p.step(0, replicator.Install{View: v})
	p.step(1, replicator.Install{View: v})
}

// run lets them work, until the second's disk has answered so often; false when they have nothing
// more to do for a while.
func (p *pair) run(answers int) bool {
	for range 100 {
		for len(p.net)+len(p.out) > 0 {
			if len(p.net) > 0 {
				deliver := p.net[0]
				p.net = p.net[1:]
				deliver()
			}
			if len(p.out) > 0 {
				if answers--; answers < 0 {
					return true
				}
				p.commit()
			}
		}
		p.now = p.now.Add(100 * time.Millisecond)
		p.step(0, replicator.Tick{})
		p.step(1, replicator.Tick{})
	}
	return false
}

func (p *pair) commit() {
	b := p.out[0]
	p.out = p.out[1:]
	answer := make(chan error, 1)
	p.table.Commit(rows.Of(b), func(err error) { answer <- err })
	p.step(1, replicator.Persisted{ID: b.ID, Err: <-answer})
}

// change lets the first write what the second will not hear of in time.
func (p *pair) change(id uint64, fn func(*crdt.ORSetTx[string]) error) {
	p.step(0, replicator.Update{ID: id, Key: "set", Write: quorum.Local, Mutate: crdt.Mutate[crdt.ORSet[string]](fn)})
	p.net = nil
}

// A repair that is larger than a batch may be, cut by a crash after any number of its transactions:
// what the table says is the state before or the state after, Verify agrees, and the next
// incarnation ends with exactly the rows of what it holds.
func TestCrashWhileARepairIsWrittenInParts(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		testParts(t, 1, func(*testing.T) (durable.Env, func(durable.Env) durable.Env) {
			return durable.NewMemory().AutoFlush(true), func(e durable.Env) durable.Env {
				return e.(*durable.Memory).Crash()
			}
		})
	})
	t.Run("lmdb", func(t *testing.T) {
		testParts(t, 2, func(t *testing.T) (durable.Env, func(durable.Env) durable.Env) {
			dir := t.TempDir()
			open := func() durable.Env {
				e, err := lmdb.Open(dir, lmdb.Options{})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			return open(), func(e durable.Env) durable.Env {
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
				return open()
			}
		})
	})
}

func testParts(t *testing.T, every int, open func(*testing.T) (durable.Env, func(durable.Env) durable.Env)) {
	const base, removed, added = 6 * partRows, 4 * partRows, 5 * partRows
	before, after, unfinished := 0, 0, 0
	for kill := 0; ; kill += every {
		env, reopen := open(t)
		p := &pair{t: t, now: time.Unix(1000, 0)}
		table := func() durable.Table {
			tb, err := env.Table(rows.Table(keyspace.Dataset{Role: "r"}))
			if err != nil {
				t.Fatal(err)
			}
			return tb
		}
		p.table = table()
		p.start(0, 1, replicator.Loaded{})
		p.start(1, 2, replicator.Loaded{})
		p.install(1, true)
		p.change(1, func(s *crdt.ORSetTx[string]) error {
			for i := range base {
				if err := s.Add(fmt.Sprint("base", i)); err != nil {
					return err
				}
			}
			return nil
		})
		p.run(1 << 20)
		p.change(2, func(s *crdt.ORSetTx[string]) error {
			for i := range added {
				if err := s.Add(fmt.Sprint("new", i)); err != nil {
					return err
				}
			}
			for i := range removed {
				if err := s.Remove(fmt.Sprint("base", i)); err != nil {
					return err
				}
			}
			return nil
		})
		p.step(0, replicator.Update{ID: 3, Key: "other", Write: quorum.Local,
			Mutate: crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error { return s.Add("x") })})
		p.net = nil
		cut := p.run(kill)

		p.net, p.out = nil, nil
		env = reopen(env)
		p.table = table()
		l, err := rows.Load(p.table)
		if err != nil {
			t.Fatalf("after %d transactions: %v", kill, err)
		}
		s, err := rows.Verify(p.table)
		if err != nil {
			t.Fatalf("after %d transactions: %v", kill, err)
		}
		switch s.Items {
		case base:
			before++
		case base + added - removed + 1:
			after++
		default:
			t.Fatalf("after %d transactions %d items count", kill, s.Items)
		}
		if l.Partial.Counts != storage.AllRows {
			unfinished++
		}
		p.start(1, 3, l)
		p.install(2, false)
		p.run(1 << 20)
		a, b := p.nodes[0].Snapshot(keyspace.Durable), p.nodes[1].Snapshot(keyspace.Durable)
		if !a.Clock().Equal(b.Clock()) || a.Digest() != b.Digest() {
			t.Fatalf("after %d transactions it does not catch up:\n%v\n%v", kill, p.nodes[0], p.nodes[1])
		}
		found := 0
		if err := p.table.Load(func(durable.Row) error { found++; return nil }); err != nil {
			t.Fatal(err)
		}
		if found != b.Len()+1 {
			t.Fatalf("after %d transactions %d rows are left for %d items", kill, found, b.Len())
		}
		if err := env.Close(); err != nil {
			t.Fatal(err)
		}
		if !cut {
			break
		}
	}
	if before == 0 || after == 0 || unfinished < 2 {
		t.Fatalf("%d crashes left the state before, %d the state after, %d rows that do not count",
			before, after, unfinished)
	}
}
