package sharding

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// clerk is an entity whose answers wait for results that a test gives.
type clerk struct {
	desk *desk
	log  []string
}

// desk is where a test finds what its clerks wait for.
type desk struct {
	waits   chan *Awaited[message_]
	loads   bool // New waits, too
	saves   bool // Stop waits, too
	made    int
	stopped int
}

// result finishes the message of an entity that waits next.
func (d *desk) result(rest func(*Context[message_]) error) bool { return (<-d.waits).Continue(rest) }

func (k *clerk) Receive(c *Context[message_], m message_) error {
	switch m := m.(type) {
	case echo:
		a, err := c.Await()
		if err != nil {
			return err
		}
		k.log = append(k.log, m.Text)
		k.desk.waits <- a
	case total:
		return c.Reply(len(k.log))
	case crash, failing:
		if _, err := c.Await(); err != nil {
			return err
		}
		return errors.New("no luck")
	}
	return nil
}

func (k *clerk) Stop(c *Context[message_]) error {
	k.desk.stopped++
	if !k.desk.saves {
		return nil
	}
	a, err := c.Await()
	if err == nil {
		k.desk.waits <- a
	}
	return err
}

func clerks(d *desk) EntityType[message_] {
	typ := cartType(&cartLog{})
	d.waits = make(chan *Awaited[message_], 100)
	typ.New = func(c *Context[message_]) Entity[message_] {
		d.made++
		if d.loads {
			a, err := c.Await()
			if err != nil {
				panic(err)
			}
			d.waits <- a
		}
		return &clerk{desk: d}
	}
	return typ
}

// gotReply is what a question came to.
type gotReply struct {
	text string
	err  error
}

// askAside asks on a goroutine of its own.
func askAside(t *testing.T, g *Region[message_], id, text string) <-chan gotReply {
	out := make(chan gotReply, 1)
	go func() {
		s, err := Ask(t.Context(), g.Ref(id), echo{Text: text})
		out <- gotReply{s, err}
	}()
	return out
}

// none is a rest that does nothing.
func none(*Context[message_]) error { return nil }

// restFails is a rest that fails.
func restFails(*Context[message_]) error { return errors.New("unwritten") }

// faults are the rests that fail.
var faults = map[string]func(*Context[message_]) error{
	"error": restFails,
	"panic": func(*Context[message_]) error { panic("unwritten") },
	"exit":  func(*Context[message_]) error { runtime.Goexit(); return nil },
}

// shardOf is the shard of an entity.
func shardOf(g *Region[message_], id string) *entities.Shard {
	return g.plane.Routes.Hosted[g.plane.Routes.ShardOf(id)].Load()
}

// replies is the rest of a message that answers its question.
func replies(text string) func(*Context[message_]) error {
	return func(c *Context[message_]) error { return c.Reply(text) }
}

// A message that waits for a result is answered after that, and what came meanwhile is handled after
// it, in order. No worker waits.
func TestAwaitKeepsTheOrder(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Limits.Workers = 1
		g, _ := localRegion(t, typ)
		first := askAside(t, g, "a", "1")
		a := <-d.waits
		second := askAside(t, g, "a", "2")
		synctest.Wait()
		other := askAside(t, g, "b", "3")
		if !d.result(replies("other")) {
			t.Error("another entity does not go on")
		}
		if got := <-other; got != (gotReply{"other", nil}) {
			t.Error(got)
		}
		synctest.Wait()
		if len(d.waits) > 0 {
			t.Fatal("a message is handled before the one that waits")
		}
		if !a.Continue(replies("one")) || a.Continue(replies("twice")) {
			t.Error("a result counts once")
		}
		if got := <-first; got != (gotReply{"one", nil}) {
			t.Error(got)
		}
		d.result(replies("two"))
		if got := <-second; got != (gotReply{"two", nil}) {
			t.Error(got)
		}
	})
}

// A result may be there before the handler has returned, and its rest may wait once more.
func TestAwaitOnceMore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				a, err := c.Await()
				if err != nil {
					return err
				}
				if _, err := c.Await(); err != ErrAwaiting {
					t.Error("of a second Await:", err)
				}
				a.Continue(func(c *Context[message_]) error {
					again, err := c.Await()
					if err != nil {
						return err
					}
					go again.Continue(replies("after two"))
					return nil
				})
				return nil
			})
		}
		g, _ := localRegion(t, typ)
		if s, err := Ask(t.Context(), g.Ref("a"), echo{}); err != nil || s != "after two" {
			t.Error(s, err)
		}
	})
}

// What an incarnation is made for waits until New has its result.
func TestNewAwaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := desk{loads: true}
		g, _ := localRegion(t, clerks(&d))
		first := askAside(t, g, "a", "1")
		loaded := <-d.waits
		second := askAside(t, g, "a", "2")
		synctest.Wait()
		if len(d.waits) > 0 {
			t.Fatal("a message is handled before New is done")
		}
		loaded.Continue(func(c *Context[message_]) error {
			if c.Asked() {
				t.Error("New has got the question")
			}
			return nil
		})
		for i, answer := range []<-chan gotReply{first, second} {
			d.result(replies(fmt.Sprint(i)))
			if got := <-answer; got != (gotReply{fmt.Sprint(i), nil}) {
				t.Error(got)
			}
		}
	})
}

// A rest that fails is a failure like another, and so is a handler that fails after Await: its result
// comes too late.
func TestAwaitAndFailures(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Supervision = Supervision{Decide: Always(Restart), Backoff: time.Second}
		var failures []Failure
		typ.OnEvent = onEvent(func(f Failure) { failures = append(failures, f) })
		g, _ := localRegion(t, typ)
		for _, rest := range faults {
			answer := askAside(t, g, "a", "1")
			d.result(rest)
			if got := <-answer; !errors.Is(got.err, ErrHandler) {
				t.Error(got)
			}
		}
		if _, err := Ask(t.Context(), g.Ref("a"), failing{}); !errors.Is(err, ErrHandler) {
			t.Error(err)
		}
		if n, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || n != 0 {
			t.Error(n, err)
		}
		if len(failures) != 4 || d.stopped > 0 {
			t.Errorf("failures %v, stopped %d", failures, d.stopped)
		}
	})
}

// An end in order waits for the result; one by force does not, and the question is answered.
func TestEndsOfWhatAwaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		g, _ := localRegion(t, clerks(&d))
		answer := askAside(t, g, "a", "1")
		a := <-d.waits
		s := shardOf(g, "a")
		s.Passivate("a", protocol.CauseRequest)
		drained := false
		s.Drain(func() { drained = true })
		synctest.Wait()
		if d.stopped > 0 || drained {
			t.Errorf("stopped %d, drained %v with an unfinished message", d.stopped, drained)
		}
		a.Continue(replies("in order"))
		if got := <-answer; got != (gotReply{"in order", nil}) {
			t.Error(got)
		}
		synctest.Wait()
		if d.stopped != 1 || !drained {
			t.Errorf("stopped %d, drained %v", d.stopped, drained)
		}
		s.Resume()

		answer = askAside(t, g, "a", "2")
		a = <-d.waits
		if err := g.Tell(t.Context(), "a", addItem{}); err != nil {
			t.Fatal(err)
		}
		var left []any
		s.Shut(func(_ *entities.Entity, env mailbox.Envelope, _ uint32) { left = append(left, env.Msg) })
		if got := <-answer; !errors.Is(got.err, ErrHandler) {
			t.Error(got)
		}
		synctest.Wait()
		if a.Continue(replies("late")) || d.stopped != 1 || !slices.Equal(left, []any{addItem{}}) {
			t.Errorf("stopped %d, left %v", d.stopped, left)
		}
	})
}

// What waits for a result when its node loses the lease goes on when that is back, with another
// Context.
func TestAwaitOverALostLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		g, lease := localRegion(t, clerks(&d))
		answer := askAside(t, g, "a", "1")
		a := <-d.waits
		lease.lost.Store(true)
		a.Continue(replies("held"))
		synctest.Wait()
		if len(answer) > 0 {
			t.Error("answered without the lease:", <-answer)
		}
		lease.lost.Store(false)
		if got := <-answer; got != (gotReply{"held", nil}) {
			t.Error(got)
		}
	})
}

// With resume the incarnation goes on after a rest that has failed.
func TestResumeAfterAwait(t *testing.T) {
	for name, rest := range faults {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				var d desk
				typ := clerks(&d)
				typ.Supervision.Decide = Always(Resume)
				g, _ := localRegion(t, typ)
				answer := askAside(t, g, "a", "1")
				d.result(rest)
				if got := <-answer; !errors.Is(got.err, ErrHandler) {
					t.Error(got)
				}
				if n, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil || n != 1 || d.made != 1 {
					t.Error(n, err, d.made)
				}
			})
		})
	}
}

// If the rest of New fails, so has New: the message that the incarnation was made for is failed, and
// no handler sees what was not loaded, whatever the directive.
func TestNewFailsLate(t *testing.T) {
	for _, directive := range []Directive{Resume, Restart, Stop} {
		for name, rest := range faults {
			t.Run(fmt.Sprint(directive, " after ", name), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					d := desk{loads: true}
					typ := clerks(&d)
					typ.Supervision = Supervision{Decide: Always(directive), Backoff: time.Second}
					g, _ := localRegion(t, typ)
					first := askAside(t, g, "a", "1")
					loaded := <-d.waits
					second := askAside(t, g, "a", "2")
					synctest.Wait()
					loaded.Continue(rest)
					if got := <-first; !errors.Is(got.err, ErrHandler) || !strings.Contains(got.err.Error(), "in New") {
						t.Error(got)
					}
					d.result(none)
					d.result(replies("two"))
					if got := <-second; got != (gotReply{"two", nil}) || d.made != 2 || d.stopped > 0 {
						t.Errorf("%v; %d made, %d stopped", got, d.made, d.stopped)
					}
				})
			})
		}
	}
}

// A failure that escalates ends what waits for results in its shard.
func TestEscalateEndsWhatAwaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Shards, typ.Supervision.Decide = 1, Always(Escalate)
		g, _ := localRegion(t, typ)
		first := askAside(t, g, "a", "1")
		a := <-d.waits
		second := askAside(t, g, "b", "2")
		d.result(restFails)
		for _, answer := range []<-chan gotReply{first, second} {
			if got := <-answer; !errors.Is(got.err, ErrHandler) {
				t.Error(got)
			}
		}
		if a.Continue(none) || d.stopped > 0 {
			t.Errorf("the result counts, or %d were stopped", d.stopped)
		}
	})
}

// What is started without a message waits for New, too, and no message is failed with it.
func TestNewWithoutAMessageAwaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := desk{loads: true}
		typ := clerks(&d)
		typ.Supervision = Supervision{Decide: Always(Restart), Backoff: time.Second}
		g, _ := localRegion(t, typ)
		shardOf(g, "a").Start([]protocol.EntityID{"a"})
		loaded := <-d.waits
		answer := askAside(t, g, "a", "1")
		synctest.Wait()
		loaded.Continue(restFails)
		d.result(none)
		d.result(replies("one"))
		if got := <-answer; got != (gotReply{"one", nil}) || d.made != 2 {
			t.Error(got, d.made)
		}
	})
}

// An incarnation whose Stop waits for a result ends after that, once. What comes meanwhile is for the
// next one.
func TestStopAwaits(t *testing.T) {
	faults := maps.Clone(faults)
	faults["nothing"] = none
	for name, rest := range faults {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				d := desk{saves: true}
				typ := clerks(&d)
				var failures []Failure
				typ.OnEvent = onEvent(func(f Failure) { failures = append(failures, f) })
				g, _ := localRegion(t, typ)
				if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
					t.Fatal(err)
				}
				shardOf(g, "a").Passivate("a", protocol.CauseRequest)
				saved := <-d.waits
				answer := askAside(t, g, "a", "1")
				synctest.Wait()
				if len(d.waits) > 0 || d.made != 1 || shardOf(g, "a").Active() != 1 {
					t.Fatal("the next incarnation has not waited")
				}
				saved.Continue(rest)
				d.result(replies("one"))
				if got := <-answer; got != (gotReply{"one", nil}) || d.made != 2 || d.stopped != 1 {
					t.Errorf("%v; %d made, %d stopped", got, d.made, d.stopped)
				}
				if want := name != "nothing"; (len(failures) == 1) != want ||
					want && !strings.Contains(failures[0].Err.Error(), "in Stop") {
					t.Error(failures)
				}
			})
		})
	}
}

// A stop by force does not wait for Stop, or for New.
func TestForceOfStopAndNew(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := desk{saves: true}
		g, _ := localRegion(t, clerks(&d))
		if _, err := Ask(t.Context(), g.Ref("a"), total{}); err != nil {
			t.Fatal(err)
		}
		s := shardOf(g, "a")
		s.Passivate("a", protocol.CauseRequest)
		saved := <-d.waits
		s.Find("a").Force()
		synctest.Wait()
		if saved.Continue(none) || d.stopped != 1 || s.Count() != 0 {
			t.Errorf("%d stopped, %d entities left", d.stopped, s.Count())
		}

		d.loads = true
		answer := askAside(t, g, "a", "1")
		loaded := <-d.waits
		s.Find("a").Force()
		again := <-d.waits // the message waits for the next incarnation
		again.Continue(none)
		if loaded.Continue(none) {
			t.Error("the result of an incarnation that has ended counts")
		}
		d.result(replies("one"))
		if got := <-answer; got != (gotReply{"one", nil}) || d.stopped != 1 {
			t.Error(got, d.stopped)
		}
	})
}

// Of a shard that has lost its lease with a question unfinished the asker hears, and of one that
// has lost it, and is shut afterwards.
func TestAwaitInAShardWithoutALease(t *testing.T) {
	for _, forced := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			var d desk
			g, lease := localRegion(t, clerks(&d))
			answer := askAside(t, g, "a", "1")
			a, s := <-d.waits, shardOf(g, "a")
			lease.lost.Store(true)
			if forced {
				s.Find("a").Force()
				synctest.Wait()
			}
			s.Shut(func(*entities.Entity, mailbox.Envelope, uint32) { t.Error("a message is left") })
			if got := <-answer; !errors.Is(got.err, ErrNoLease) {
				t.Error(got)
			}
			synctest.Wait()
			if a.Continue(replies("late")) {
				t.Error("the result counts")
			}
		})
	}
}

// While a message waits for its result, no receive timeout comes; the time counts from its end.
func TestReceiveTimeoutAndAwait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		waits, timeouts := make(chan *Awaited[message_], 1), make(chan time.Time, 1)
		typ := cartType(&cartLog{})
		typ.New = func(c *Context[message_]) Entity[message_] {
			if err := c.SetReceiveTimeout(10*time.Second, addItem{}); err != nil {
				t.Error(err)
			}
			return receiveFunc(func(c *Context[message_], m message_) error {
				if m == (addItem{}) {
					timeouts <- time.Now()
					return c.SetReceiveTimeout(0, nil)
				}
				a, err := c.Await()
				waits <- a
				return err
			})
		}
		g, _ := localRegion(t, typ)
		answer := askAside(t, g, "a", "1")
		a := <-waits
		<-time.After(25 * time.Second)
		if len(timeouts) > 0 {
			t.Error("a timeout comes before the message has ended")
		}
		ended := time.Now()
		a.Continue(replies("one"))
		<-answer
		if took := (<-timeouts).Sub(ended); took < 10*time.Second || took > 20*time.Second {
			t.Errorf("the timeout comes %v after the message", took)
		}
	})
}

// A question stays open while its handler waits, and its asker may give up. A Responder that was
// taken before answers at any time.
func TestQuestionsAndAwait(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		waits := make(chan *Awaited[message_], 1)
		responders := make(chan Responder, 1)
		typ := cartType(&cartLog{})
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if m == (echo{Text: "taken"}) {
					r, err := c.Responder()
					if err != nil {
						return err
					}
					responders <- r
				}
				a, err := c.Await()
				waits <- a
				return err
			})
		}
		g, _ := localRegion(t, typ)
		_, err := Ask(within(t, time.Second), g.Ref("a"), echo{})
		if !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
		late := make(chan error, 1)
		(<-waits).Continue(func(c *Context[message_]) error {
			late <- c.Reply("late")
			return nil
		})
		if err := <-late; err != nil {
			t.Error(err)
		}

		answer := askAside(t, g, "a", "taken")
		a := <-waits
		if err := (<-responders).Reply("early"); err != nil {
			t.Error(err)
		}
		if got := <-answer; got != (gotReply{"early", nil}) {
			t.Error(got)
		}
		a.Continue(func(c *Context[message_]) error {
			if c.Asked() {
				t.Error("the question was taken")
			}
			return nil
		})

		answer = askAside(t, g, "a", "left open")
		(<-waits).Continue(none)
		if got := <-answer; !errors.Is(got.err, ErrNoReply) || !strings.Contains(got.err.Error(), "sharding.echo") {
			t.Error(got)
		}
	})
}

// A handler whose results are there at once leaves its worker to others.
func TestAwaitLeavesTheWorker(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := cartType(&cartLog{})
		typ.Limits.Workers, typ.Limits.WorkersMax = 1, 1
		stop := false // the only worker's
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if c.ID() == "b" {
					stop = true
					return c.Reply("")
				}
				a, err := c.Await()
				if err != nil {
					return err
				}
				var rest func(*Context[message_]) error
				rest = func(c *Context[message_]) error {
					if stop {
						return c.Reply("")
					}
					a, err := c.Await()
					if err == nil {
						a.Continue(rest)
					}
					return err
				}
				a.Continue(rest)
				return nil
			})
		}
		g, _ := localRegion(t, typ)
		for _, id := range []string{"a", "b"} {
			defer func(answer <-chan gotReply) {
				if got := <-answer; got.err != nil {
					t.Error(got)
				}
			}(askAside(t, g, id, ""))
		}
	})
}

// However a result and a stop by force meet, the entity ends or answers, and goes on.
func TestResultMeetsForce(t *testing.T) {
	var d desk
	g, _ := localRegion(t, clerks(&d))
	s := shardOf(g, "a")
	for range 500 {
		answer := askAside(t, g, "a", "")
		a := <-d.waits
		var both sync.WaitGroup
		both.Go(s.Find("a").Force)
		both.Go(func() { a.Continue(replies("one")) })
		both.Wait()
		if got := <-answer; got != (gotReply{"one", nil}) && !errors.Is(got.err, ErrHandler) {
			t.Fatal(got)
		}
	}
	if _, err := Ask(within(t, 10*time.Second), g.Ref("a"), total{}); err != nil {
		t.Error(err)
	}
}

// A rest that panics is a use of its entity, as one that returns: it is not idle.
func TestARestThatPanicsIsActivity(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d desk
		typ := clerks(&d)
		typ.Passivation.Strategy.IdleTimeout = time.Minute
		typ.Supervision.Decide = Always(Resume)
		g, _ := localRegion(t, typ)
		g.plane.Entities.StartScans()
		if err := g.Tell(t.Context(), "a", echo{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(50 * time.Second)
		d.result(func(*Context[message_]) error { panic("no luck") })
		<-time.After(55 * time.Second)
		if n := g.Stats().Entities; n != 1 || d.stopped > 0 {
			t.Errorf("%d entities, %d were stopped, 55 s after the rest", n, d.stopped)
		}
	})
}
