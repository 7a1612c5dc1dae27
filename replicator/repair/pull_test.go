package repair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
)

const donorID crdt.Origin = 2

// pair is a puller and its donor, without anything between them.
type pair struct {
	t        *testing.T
	now      time.Time
	rep      *crdt.Replica // of the puller
	from     *crdt.Replica
	donors   Donors
	u        *Puller
	todo     []func() *Staged // answers on their way
	counts   [5]uint64
	broken   int
	helpless bool // the donor is gone

	liar  crdt.Origin // another replica that helps, and whose answers make no sense; 0: none
	asked int         // questions to it
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, now: time.Unix(1000, 0)}
	p.rep, p.from = crdt.NewReplica(1, crdt.StoreOptions{}), crdt.NewReplica(donorID, crdt.StoreOptions{})
	p.u = NewPuller(Env{
		Limits:   Limits{FrameMax: 4096, PieceWindow: 4, SuppliersMax: 2, SketchMax: 1 << 14},
		Counters: Counters{&p.counts[0], &p.counts[1], &p.counts[2], &p.counts[3], &p.counts[4]},
		Host:     p, Line: p, Rand: rand.New(rand.NewPCG(1, 2)), Store: p.rep.Store(),
	})
	return p
}

func (p *pair) Now() time.Time                                { return p.now }
func (p *pair) RetryAt(tries int) time.Time                   { return p.now.Add(time.Second) }
func (p *pair) Progress(of crdt.Origin, sess uint64) Progress { return Progress{} }
func (p *pair) Broken(crdt.Origin, time.Time)                 { p.broken++ }

func (p *pair) Malformed(from crdt.Origin) {
	if from != p.liar {
		p.t.Errorf("%v makes no sense", from)
	}
}

func (p *pair) Suppliers() []Supplier {
	switch {
	case p.helpless:
		return nil
	case p.liar != 0:
		return []Supplier{{ID: donorID, Reachable: true}, {ID: p.liar, Reachable: true}}
	}
	return []Supplier{{ID: donorID, Reachable: true}}
}

func (p *pair) answer(fn func() *Staged) { p.todo = append(p.todo, fn) }

func (p *pair) Pull(to crdt.Origin, session uint64, content *crdt.Clock) {
	p.answer(func() *Staged {
		d := p.donors.Open(1, 0, session, p.from.Store(), content)
		first, _ := FirstItems(d.Items(d.News), 4096)
		p.answer(func() *Staged { return p.u.OnItems(to, session, first) })
		if d.Shares() {
			d.Want(0, 0, FirstCells)
			d.Work(4096, func(c Cells) { p.answer(func() *Staged { return p.u.OnCells(to, session, c) }) })
		}
		return p.u.OnHead(to, session, d.Pin.Clock(), d.Pin.Digest(), uint64(d.Pin.Len()))
	})
}

func (p *pair) MoreCells(to crdt.Origin, session, key uint64, from, count uint32) {
	p.answer(func() *Staged {
		d := p.donors.Find(1, 0, session)
		if !d.Want(key, from, count) {
			p.t.Error("too many cells")
		}
		d.Work(4096, func(c Cells) { p.answer(func() *Staged { return p.u.OnCells(to, session, c) }) })
		return nil
	})
}

func (p *pair) Ask(to crdt.Origin, session uint64, id uint32, kind Kind, dots *crdt.Clock, sizes []uint64) {
	if to == p.liar {
		p.asked++
		p.answer(func() *Staged {
			return p.u.OnItems(to, session, Answer{ID: id, Items: []*crdt.Item{{Dot: crdt.Dot{Origin: 99, Seq: 1}}}})
		})
		return
	}
	p.answer(func() *Staged {
		d := p.donors.Find(1, 0, session)
		var a Answer
		switch kind {
		case KindItems:
			a, _ = FirstItems(d.Items(dots), 4096)
		case KindNames:
			a = d.Names(dots, 4096)
		case KindSums:
			a = d.Sums(dots, sizes)
		}
		a.ID = id
		return p.u.OnItems(to, session, a)
	})
}

func (p *pair) Done(to crdt.Origin, session uint64) { p.donors.Close(1, 0, session) }

// run carries answers until the repair has ended, and returns what it brought.
func (p *pair) run() *Staged {
	for i := 0; p.u.Running(); i++ {
		if i > 10_000 {
			p.t.Fatal("the repair does not end")
		}
		if len(p.todo) == 0 {
			p.now = p.u.Deadline()
			if g := p.u.OnTime(); g != nil {
				return g
			}
			continue
		}
		next := p.todo[0]
		p.todo = p.todo[1:]
		if g := next(); g != nil {
			return g
		}
	}
	return nil
}

func put(t *testing.T, r *crdt.Replica, from, to int) {
	var ch crdt.Changes
	for i := from; i < to; i++ {
		if _, err := r.Update(fmt.Sprintf("k%05d", i), 0,
			func(tx *crdt.Tx) error { return tx.Put("p", "x", nil) }, &ch); err != nil {
			t.Fatal(err)
		}
		ch.Reset()
	}
}

// A repair brings all of a donor's items to an empty replica, and after that what differs.
// mergeAll makes what was staged part of a replica, a few items at a time.
func mergeAll(rep *crdt.Replica, g *Staged) error {
	m, err := g.Merge(rep)
	for done := false; err == nil && !done; {
		done, err = m.Work(100)
	}
	if err == nil {
		m.Take()
	}
	return err
}

func TestRepairBringsWhatDiffers(t *testing.T) {
	p := newPair(t)
	var ch crdt.Changes
	for round, n := range []int{3000, 3010} {
		put(t, p.from, []int{0, 3000}[round], n)
		if round > 0 {
			for i := range 20 { // removed there, alive here
				_, err := p.from.Update(fmt.Sprintf("k%05d", i), 0, func(tx *crdt.Tx) error {
					_, err := tx.RemoveAll("")
					return err
				}, &ch)
				if err != nil {
					t.Fatal(err)
				}
				ch.Reset()
			}
		}
		p.u.Begin(donorID, false)
		g := p.run()
		if g == nil || g.From != donorID || p.donors.Len() > 0 {
			t.Fatalf("round %d: %+v, %d donations", round, g, p.donors.Len())
		}
		if err := mergeAll(p.rep, g); err != nil {
			t.Fatal(err)
		}
		ch.Reset()
		if p.rep.Store().Digest() != p.from.Store().Digest() || !p.rep.Store().Clock().Equal(p.from.Store().Clock()) {
			t.Fatalf("round %d: %d items, the donor has %d", round, p.rep.Store().Len(), p.from.Store().Len())
		}
		if round > 0 && g.Count != 10 {
			t.Fatalf("%d items came, 10 were new", g.Count)
		}
	}
	if p.counts[2] == 0 || p.counts[1]+p.counts[3]+p.counts[4] > 0 {
		t.Fatalf("%v", p.counts)
	}
}

// A repair of stores that differ in much leaves the sketches out, and goes on at once: no time
// passes that no answer is waited for.
func TestRangesAreAskedForAtOnce(t *testing.T) {
	p := newPair(t)
	var ch crdt.Changes
	put(t, p.from, 0, 6000)
	p.u.Begin(donorID, false)
	if err := mergeAll(p.rep, p.run()); err != nil {
		t.Fatal(err)
	}
	for i := range 2500 {
		ch.Reset()
		_, err := p.from.Update(fmt.Sprintf("k%05d", i), 0, func(tx *crdt.Tx) error {
			_, err := tx.RemoveAll("")
			return err
		}, &ch)
		if err != nil {
			t.Fatal(err)
		}
	}
	began := p.now
	p.u.Begin(donorID, false)
	if p.run() == nil || p.counts[4] != 1 {
		t.Fatalf("%v", p.counts)
	}
	if took := p.now.Sub(began); took > 0 {
		t.Errorf("%v passed", took)
	}
}

// A repair without any donor left breaks, and leaves the puller idle.
func TestRepairWithoutADonorBreaks(t *testing.T) {
	p := newPair(t)
	put(t, p.from, 0, 10)
	p.u.Begin(donorID, false)
	p.helpless, p.todo = true, nil
	p.u.Forget(func(id crdt.Origin) bool { return id == donorID })
	if p.u.Running() || p.broken != 1 || !p.u.Deadline().IsZero() {
		t.Fatalf("running %v, broken %d", p.u.Running(), p.broken)
	}
}

// What a helper was asked for is asked of the donor when the helper's answer makes no sense, without
// a doubt about what came from others.
func TestAHelperThatMakesNoSense(t *testing.T) {
	p := newPair(t)
	p.liar = 3
	put(t, p.from, 0, 3*helpersFrom*partDots)
	p.u.Begin(donorID, false)
	g := p.run()
	if g == nil {
		t.Fatal("the repair has ended with nothing")
	}
	if p.asked == 0 || g.Count != uint64(p.from.Store().Len()) {
		t.Errorf("the helper was asked %d questions; %d items came of %d", p.asked, g.Count, p.from.Store().Len())
	}
	if alarms := p.counts[1]; alarms != 0 {
		t.Errorf("%d times the digests did not match", alarms)
	}
}

// crowd is the line of a repair with many donors, of which none answers.
type crowd struct {
	*pair
	suppliers []Supplier
	asked     []crdt.Origin // in order
}

func (c *crowd) Suppliers() []Supplier                            { return c.suppliers }
func (c *crowd) Pull(to crdt.Origin, _ uint64, _ *crdt.Clock)     { c.asked = append(c.asked, to) }
func (c *crowd) Done(crdt.Origin, uint64)                         {}
func (c *crowd) Progress(of crdt.Origin, session uint64) Progress { return Progress{} }
func (c *crowd) Malformed(from crdt.Origin)                       { c.t.Errorf("%v makes no sense", from) }

// A donor that refuses is not asked again by the same repair, whatever the others do: two of them
// would send it to each other without end.
func TestNoDonorIsAskedTwice(t *testing.T) {
	c := &crowd{pair: newPair(t)}
	for id := range crdt.Origin(4) {
		c.suppliers = append(c.suppliers, Supplier{ID: donorID + id, Reachable: true})
	}
	env := c.u.env
	env.Host, env.Line = c, c
	u := NewPuller(env)
	u.Begin(donorID, false)
	for i := 0; u.Running(); i++ {
		if i > len(c.suppliers) {
			t.Fatalf("asked %d", c.asked)
		}
		session, _ := u.Session()
		u.OnRefuse(u.Donor(), session)
	}
	if !slices.Equal(c.asked, []crdt.Origin{2, 3, 4, 5}) || c.broken != 1 {
		t.Errorf("asked %d, broken %d times", c.asked, c.broken)
	}
}

// What is kept for a replica that has left is given up at once: a donation pins all that the store
// had when it began.
func TestADonationEndsWithItsTaker(t *testing.T) {
	p := newPair(t)
	for to := crdt.Origin(1); to <= 3; to++ {
		p.donors.Open(to, 0, 7, p.from.Store(), &crdt.Clock{}).Touch(p.now.Add(time.Duration(to) * time.Second))
	}
	p.donors.Expire(p.now.Add(time.Second), func(to crdt.Origin) bool { return to == 3 })
	if p.donors.Len() != 1 || p.donors.Find(2, 0, 7) == nil {
		t.Errorf("%d donations are left", p.donors.Len())
	}
}
