package origins

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
)

// world is three replicas, 8 to 10, of which all have made an event, as incarnations before have. Those below 8
// retire first, in views 1 and 2, and those below 9 next, in views 3 and 4. Then 8 is over.
type world struct {
	judge  Judge
	clocks map[uint64]*crdt.Clock
	faults []string
}

func newWorld() *world {
	w := &world{clocks: map[uint64]*crdt.Clock{}}
	for id := range uint64(3) {
		c := &crdt.Clock{}
		for o := range crdt.Origin(10) {
			c.AddRange(1+o, 1, 5)
		}
		w.clocks[8+id] = c
	}
	return w
}

func (w *world) see(text string) {
	if text != "" {
		w.faults = append(w.faults, text)
	}
}

// install has replicas install a view of some. closes has those that were there before close what it says.
func (w *world) install(v replica.View, closes bool, ids ...uint64) {
	for _, id := range ids {
		v.Voters = append(v.Voters, replica.Member{ID: crdt.Origin(id)})
	}
	for _, id := range ids {
		if c := w.clocks[id]; closes && c != nil {
			c.Join(v.Ended.Clock(keyspace.Volatile))
		}
		w.see(w.judge.Installed(id, v, func(id uint64) *crdt.Clock { return w.clocks[id] }))
	}
}

func (w *world) look(id uint64) { w.see(w.judge.Look(id, w.clocks[id])) }

// The retirements that end.
var (
	early = replica.Retirement{Below: 8}
	late  = replica.Retirement{Below: 10, Spared: []crdt.Origin{9}}
)

// play has both end. Replica 8 goes with the second view.
func (w *world) play(closes, again bool) {
	w.install(replica.View{Epoch: 1, Ending: early}, true, 8, 9, 10)
	w.install(replica.View{Epoch: 2, Ended: early, AgreedIn: 1}, closes, 8, 9, 10)
	w.judge.Gone(8)
	delete(w.clocks, 8)
	w.install(replica.View{Epoch: 3, Ended: early, AgreedIn: 1, Ending: late}, false, 9, 10)
	w.install(replica.View{Epoch: 4, Ended: late, AgreedIn: 3}, again, 9, 10)
}

// Clocks that close what is over are right, and so are those of a node that comes.
func TestClocksThatClose(t *testing.T) {
	w := newWorld()
	w.play(true, true)
	w.clocks[11] = w.clocks[9].Clone()
	w.install(replica.View{Epoch: 5, Ended: late, AgreedIn: 3}, false, 9, 10, 11)
	w.clocks[11].AddRange(11, 1, 2)
	for id := range w.clocks { // order: each for itself
		w.look(id)
	}
	if len(w.faults) > 0 || w.judge.Most != 4 {
		t.Errorf("%q, %d rows", w.faults, w.judge.Most)
	}
}

// What is wrong is seen: clocks that do not close, a row of an incarnation that is over, and too many runs.
func TestClocksThatGrow(t *testing.T) {
	one := func(what string, w *world, want string) {
		t.Helper()
		if len(w.faults) == 0 || !strings.Contains(w.faults[0], want) {
			t.Errorf("%s: %q", what, w.faults)
		}
	}
	w := newWorld()
	w.play(false, true)
	one("the first time", w, "view 2 leaves a row")
	w = newWorld()
	w.play(true, false)
	one("the second time", w, "view 4 leaves a row")

	w = newWorld()
	w.play(true, true)
	w.clocks[11] = (&crdt.Clock{}).Clone()
	w.clocks[11].AddRange(3, 1, 2)
	w.look(11)
	if len(w.faults) > 0 {
		t.Errorf("one that is no member: %q", w.faults)
	}
	w.install(replica.View{Epoch: 5, Ended: late, AgreedIn: 3}, false, 9, 10, 11)
	w.look(11)
	one("a disk of before", w, "a row of 0000000000000003")

	w = newWorld()
	w.play(true, true)
	w.clocks[10] = &crdt.Clock{}
	for o := range crdt.Origin(9) {
		w.clocks[10].Close(100*o, 100*o+9, 0)
	}
	w.look(10)
	one("runs", w, "9 runs")
}

// A retirement that none has closed, as when all stop just then, holds none to anything.
func TestNoneCloses(t *testing.T) {
	w := newWorld()
	w.install(replica.View{Epoch: 1, Ending: early}, false, 8, 9, 10)
	for id := uint64(8); id <= 10; id++ {
		w.judge.Gone(id)
	}
	clocks := w.clocks
	w.clocks = map[uint64]*crdt.Clock{11: clocks[8], 12: clocks[9]}
	w.install(replica.View{Epoch: 2, Founded: true, Ended: early, AgreedIn: 1}, false, 11, 12)
	w.install(replica.View{Epoch: 3, Ended: early, AgreedIn: 1, Ending: late}, false, 11, 12)
	w.install(replica.View{Epoch: 4, Ended: late, AgreedIn: 3}, true, 11, 12)
	w.look(11)
	if len(w.faults) > 0 || w.judge.Most != 0 {
		t.Errorf("%q, %d rows", w.faults, w.judge.Most)
	}
}
