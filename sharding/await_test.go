package sharding

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
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

// What is started without a message waits for New, too, and no message is failed with it.
func TestNewWithoutAMessageAwaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := desk{loads: true}
		typ := clerks(&d)
		typ.Supervision = Supervision{Decide: Always(Restart), Backoff: time.Second}
		g, _ := localRegion(t, typ)
		shardOf(g, "a").Start([]protocol.EntityID{"a"}, 0)
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
