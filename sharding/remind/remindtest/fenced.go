package remindtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// RunFenced holds the stores that open makes to the laws about tokens. They are as those of Run.
func RunFenced(t *testing.T, open func(t testing.TB) (a, b remind.Store)) {
	for name, law := range fenced {
		t.Run(name, func(t *testing.T) { law(t, func() (a, b remind.Store) { return open(t) }) })
	}
}

// tb is a test, or the record of one that may fail.
type tb interface {
	rapid.TB
	Context() context.Context
}

var fenced = map[string]func(t tb, open func() (a, b remind.Store)){
	"fenced histories": fencedHistories, "fenced at one time": fencedAtOneTime,
}

// hosting is a token, in the order of n. That of -1 is a tool's.
func hosting(n int) singleton.FencingToken {
	if n < 0 {
		return tool
	}
	return singleton.FencingToken{Era: 1, Epoch: view.Epoch(1 + n/4), Up: 1, Seq: uint64(1 + n%4)}
}

// fencedHistories are random calls of several hostings of two shards through either door, in any order,
// against a model that knows the latest hosting of each, and the number of its last update. A hosting may
// begin with any call.
func fencedHistories(t tb, open func() (a, b remind.Store)) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := open()
		m, latest, numbers := model{}, map[protocol.ShardID]int{0: -1, 1: -1}, map[protocol.ShardID]int{}
		for i := range rapid.IntRange(1, 20).Draw(rt, "calls") {
			door := rapid.SampledFrom([]remind.Store{a, b}).Draw(rt, "door")
			shard := protocol.ShardID(rapid.IntRange(0, 1).Draw(rt, "shard"))
			n := rapid.IntRange(-1, 8).Draw(rt, "hosting")
			if rapid.Bool().Draw(rt, "goes on") {
				n = latest[shard]
			}
			late, overtaken := n >= 0 && n < latest[shard], false
			if n > latest[shard] {
				numbers[shard] = 0
			}
			var err error
			switch rapid.IntRange(0, 3).Draw(rt, "call") {
			case 0:
				var due []remind.Reminder
				due, _, err = door.Due(t.Context(), hosting(n), shard, noon.Add(time.Hour), remind.DueMax)
				if want := len(m[shard]); !late && len(due) != want {
					rt.Fatalf("hosting %d sees %d reminders, %v; want %d", n, len(due), err, want)
				}
			case 1:
				_, err = door.Of(t.Context(), hosting(n), shard, "a")
			case 2:
				var all []remind.Reminder
				all, _, err = door.All(t.Context(), hosting(n), shard, remind.Key{}, remind.DueMax)
				if want := len(m[shard]); !late && len(all) != want {
					rt.Fatalf("hosting %d sees %d reminders, %v; want %d", n, len(all), err, want)
				}
			default:
				changes := drawChanges(rt, uint64(1+10*i), m[shard])
				number := max(1, numbers[shard]+rapid.SampledFrom([]int{-1, 1, 2}).Draw(rt, "number"))
				overtaken = n >= 0 && !late && number < numbers[shard]
				err = door.Update(t.Context(), hosting(n), shard, uint64(number), changes)
				if late || overtaken {
					break
				}
				for _, c := range changes {
					m.change(shard, c)
				}
				if n >= 0 {
					numbers[shard] = number
				}
			}
			if late != errors.Is(err, remind.ErrFenced) || overtaken != errors.Is(err, remind.ErrOvertaken) ||
				!late && !overtaken && err != nil {
				rt.Fatalf("hosting %d of shard %v after %d got %v", n, shard, latest[shard], err)
			}
			latest[shard] = max(latest[shard], n)
		}
		compare(t.Context(), rt, a, m)
		compare(t.Context(), rt, b, m)
	})
}

// fencedAtOneTime has a hosting write while the next one begins: what was not answered by then has no
// effect. The next hosting sees all that has one in its first look.
func fencedAtOneTime(t tb, open func() (a, b remind.Store)) {
	a, b := open()
	for round := range 10 {
		shard := protocol.ShardID(round)
		var writers sync.WaitGroup
		var number atomic.Uint64
		begun := make(chan struct{})
		for w := range 4 {
			writers.Go(func() {
				for i, late := uint64(1), false; ; i++ {
					select {
					case <-begun:
						late = true
					default:
					}
					r := remind.Reminder{Entity: "e", Name: string(rune('a' + w)), Due: noon, At: noon, Version: i}
					err := a.Update(t.Context(), hosting(round), shard, number.Add(1), []remind.Change{{Reminder: r}})
					switch {
					case errors.Is(err, remind.ErrFenced):
						return
					case errors.Is(err, remind.ErrOvertaken) && !late: // by another writer
					case late || err != nil:
						t.Errorf("a write, after the next hosting has begun: %t: %v", late, err)
						return
					}
				}
			})
		}
		first, _, err := b.Due(t.Context(), hosting(round+1), shard, noon, remind.DueMax)
		if err != nil {
			t.Errorf("the first look: %v", err)
		}
		close(begun)
		writers.Wait()
		left, _, err := b.Due(t.Context(), tool, shard, noon, remind.DueMax)
		if err != nil || len(left) != len(first) {
			t.Errorf("%v and %v: after the first look %v", left, err, first)
			return
		}
		was := map[remind.Key]remind.Reminder{}
		for _, r := range first {
			was[r.Key()] = r
		}
		for _, r := range left {
			if was[r.Key()].Version != r.Version {
				t.Errorf("%v changes to version %d after the first look of the next hosting", r.Key(), r.Version)
			}
		}
	}
}
