package retiring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Ten years of a cluster whose nodes are restarted one after the other each night.
const (
	yearsSize   = 50
	yearsNights = 4000 // 200,000 incarnations
	yearsEach   = 2 * time.Minute
)

// years is such a cluster, as its views tell of it, and the clock of its data.
type years struct {
	t     *testing.T
	rng   *rand.Rand
	now   time.Time
	ahead time.Duration // by which the clocks are wrong
	v     *view.View
	clock crdt.Clock

	came, ended int
	again       int // nodes that were told the bound, and drew again
	deaf        bool
}

func newYears(t *testing.T) *years {
	y := &years{t: t, rng: rand.New(rand.NewPCG(1, 2)), now: noon}
	y.v = &view.View{Format: format.Ages, Cluster: 1, Epoch: 1, Founded: true, LastUp: yearsSize}
	for i := range yearsSize {
		m := y.node(i)
		m.Status, m.UpNumber = view.Up, uint32(i+1)
		y.v.Members = append(y.v.Members, m)
	}
	y.v.Sort()
	y.v.Ages = y.v.Ages.Counting(yearsSize)
	return y
}

// node is an incarnation that starts on a machine. It is told the bound if it has to be.
func (y *years) node(machine int) view.Member {
	uid := view.DrawUID(y.now.Add(y.ahead), 0, y.rng.Uint64())
	if y.v.Ages.Refuses(uid) != "" {
		y.again++
		uid = view.DrawUID(y.now.Add(y.ahead), y.v.Ages.Least(), y.rng.Uint64())
	}
	y.came++
	y.clock.AddRange(crdt.Origin(uid), 1, 2)
	return view.Member{
		UID: uid, Addr: fmt.Sprint("n", machine, ":1"), Roles: []string{"x"}, Status: view.Joining,
		Formats: format.Build(),
	}
}

// decide is the next view, composed as package nextview does.
func (y *years) decide(change func(next *view.View)) {
	next := y.v.Next(view.Hash{})
	next.Members = slices.Clone(y.v.Members)
	s := Scene{
		Now: y.now.Add(y.ahead), View: y.v, Next: next, Settled: y.v.Epoch, After: Usual,
		Agreed: func(u view.UID) view.Epoch {
			if y.deaf && u == y.v.Members[0].UID {
				return 0
			}
			return y.v.Epoch
		},
		Reachable: func(view.UID) bool { return true },
	}
	ended := s.End(false)
	change(next)
	next.Sort()
	s.Count()
	if began := s.Begin(); began || ended {
		if err := next.Check(); err != nil {
			y.t.Fatalf("after %d incarnations: %v: %v", y.came, err, next)
		}
	}
	if y.v = next; ended {
		y.ended++
		from := view.UID(0)
		for _, u := range append(slices.Clone(next.Ages.Ended.Spared), next.Ages.Ended.Below) {
			y.clock.Close(crdt.Origin(from), crdt.Origin(u-1), 0)
			from = u + 1
		}
	}
}

// restart restarts the machine's node.
func (y *years) restart(machine int) {
	addr := fmt.Sprint("n", machine, ":1")
	of := func(m view.Member) bool { return m.Addr == addr }
	joining := y.node(machine)
	y.decide(func(next *view.View) {
		next.Members = append(slices.DeleteFunc(next.Members, of), joining)
	})
	y.decide(func(next *view.View) {
		m := &next.Members[slices.IndexFunc(next.Members, of)]
		next.LastUp++
		m.Status, m.UpNumber = view.Up, next.LastUp
	})
	y.now = y.now.Add(yearsEach)
}

func (y *years) rows() (n int) {
	for range y.clock.Rows(0) {
		n++
	}
	return n
}

// After 200,000 incarnations, views and clocks are as large as after some hundred: also when the clocks of the
// machines are wrong for a night, by a month ahead or a day behind, and when a member does not agree for some
// nights.
func TestTenYears(t *testing.T) {
	y := newYears(t)
	var early, largest, rows int
	for night := range yearsNights {
		start := y.now
		y.ahead = map[int]time.Duration{1000: 30 * 24 * time.Hour, 2000: -24 * time.Hour}[night]
		y.deaf = night%500 > 480 && night%500 < 485
		for machine := range yearsSize {
			y.restart(machine)
		}
		y.now = start.Add(24 * time.Hour)
		b, err := cbor.Records.Append(nil, y.v)
		if err != nil {
			t.Fatal(err)
		}
		if largest = max(largest, len(b)); night < 10 {
			early = largest
		}
		if len(y.v.Ages.Ended.Spared) > yearsSize || largest > 2*early {
			t.Fatalf("night %d: %d bytes of a view, at first %d: %v", night, largest, early, y.v.Ages)
		}
		if night%500 > 480 && night%500 < 490 {
			continue // a member does not agree, or a retirement that has waited for it ends
		}
		// One row for each member, and for what lies between two of them; and for each incarnation that has come
		// since the last retirement began, or in the two hours before.
		if rows = max(rows, y.rows()); rows > 2*yearsSize+2*Usual {
			t.Fatalf("night %d: a clock of %d rows: %v", night, rows, y.v.Ages)
		}
	}
	if y.came < 200_000 || y.ended < y.came/4/Usual || y.again == 0 {
		t.Errorf("%d incarnations, %d retirements, %d nodes drew again", y.came, y.ended, y.again)
	}
	t.Logf("%d incarnations, %d retirements: at most %d rows of a clock, %d now; views of %d bytes, of %d at first; "+
		"%d nodes drew again", y.came, y.ended, rows, y.rows(), largest, early, y.again)
}
