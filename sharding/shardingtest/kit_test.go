package shardingtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
)

func TestAskAndTell(t *testing.T) {
	both(t, func(t *testing.T) {
		k := kit(t)
		tells(t, k, "a", add{2})
		tells(t, k, "a", add{3})
		wants(t, k, "a", 5)
		wants(t, k, "b", 0)
		if k.Incarnations("a") != 1 || !k.Active("a") || k.Active("c") || k.Incarnations("c") != 0 {
			t.Errorf("a: %d incarnations, c: %d", k.Incarnations("a"), k.Incarnations("c"))
		}
		if err := k.Tell("", add{1}); !errors.Is(err, sharding.ErrInvalidID) {
			t.Errorf("an empty id: %v", err)
		}
	})
}

// What is due happens when its time has come, and not before.
func TestAdvance(t *testing.T) {
	both(t, func(t *testing.T) {
		for name, m := range map[string]command{
			"after": later{time.Minute}, "idle": idle{time.Minute}, "reminder": remind{},
		} {
			k := kit(t)
			if name == "reminder" {
				m = remind{k.Now().Add(time.Minute)}
			}
			began := k.Now()
			tells(t, k, "a", m)
			k.Advance(59 * time.Second)
			n, err := Ask(k, "b", total{}) // another one, for a question ends idleness
			if n != 0 || err != nil || k.Now().Sub(began) >= time.Minute {
				t.Errorf("%d, %v at %v", n, err, k.Now().Sub(began))
			}
			if name != "idle" {
				wants(t, k, "a", 0)
			}
			k.Advance(time.Minute)
			wants(t, k, "a", 1)
		}
	})
}

// An entity that fails is restarted after the backoff: a question waits for it, and time passes.
func TestRestartsAndFailures(t *testing.T) {
	both(t, func(t *testing.T) {
		typ := sumType(new(int), new(func()))
		typ.Supervision = sharding.Supervision{Decide: sharding.Always(sharding.Restart), Backoff: time.Minute,
			Restarts: 1, Within: time.Hour}
		typ.Timeouts.Ask = 10 * time.Minute
		k := New(t, typ)
		var waits []time.Time
		tells(t, k, "a", add{1})
		for range 2 {
			if _, err := Ask(k, "a", crash{}); !errors.Is(err, sharding.ErrHandler) {
				t.Errorf("crash: %v", err)
			}
			waits = append(waits, k.Now())
			wants(t, k, "a", 0)
		}
		if first, second := waits[1].Sub(waits[0]), k.Now().Sub(waits[1]); first < time.Minute || second > time.Second {
			t.Errorf("a restart took %v, and what has no restart left %v", first, second)
		}
		all := k.Failures()
		if len(all) != 2 || all[0].ID != "a" || !errors.Is(all[0].Err, errCrash) ||
			all[0].Directive != sharding.Restart || all[1].Directive != sharding.Stop || !all[1].OverBudget {
			t.Errorf("failures: %v", all)
		}
		if n := k.Incarnations("a"); n != 3 {
			t.Errorf("%d incarnations", n)
		}
	})
}

func TestPassivation(t *testing.T) {
	both(t, func(t *testing.T) {
		stops := 0
		k := New(t, sumType(&stops, nil))
		tells(t, k, "a", leave{})
		if k.Active("a") || stops != 1 || k.Stops("a") != 1 {
			t.Errorf("active %t, %d stops, %d noted", k.Active("a"), stops, k.Stops("a"))
		}
		wants(t, k, "a", 0)
		k.Advance(5 * time.Minute)
		if k.Active("a") || stops != 2 {
			t.Errorf("active %t, %d stops", k.Active("a"), stops)
		}
		wants(t, k, "a", 0)
		if err := k.Passivate("a"); err != nil || k.Active("a") {
			t.Error("it was passivated, and is active", err)
		}
		wants(t, k, "a", 0)
		k.Advance(5 * time.Minute)
		var causes []string
		for _, p := range k.Passivations("a") {
			causes = append(causes, p.String())
		}
		if got := fmt.Sprint(causes); got != "[it was asked for idle for too long it was asked for idle for too long]" {
			t.Error(got)
		}
	})
}

// What goes to entities that are not under test is kept, and answered as the test wants.
func TestOthers(t *testing.T) {
	both(t, func(t *testing.T) {
		k := kit(t)
		if _, err := Ask(k, "a", pass{To: "b"}); !errors.Is(err, sharding.ErrHandler) ||
			!contains(err.Error(), "the test gives no answer to this question", "shardingtest.total", `"b"`) {
			t.Errorf("without an answer: %v", err)
		}
		k.Others().Answer(func(to string, msg command) (any, error) { return 17, nil })
		if n, err := Ask(k, "a", pass{To: "b"}); err != nil || n != 17 {
			t.Errorf("answered with %d, %v", n, err)
		}
		sent := k.Others().Sent()
		if len(sent) != 4 || sent[2].To != "b" || sent[2].Msg != (add{1}) || sent[2].Asked || !sent[3].Asked {
			t.Errorf("%+v", sent)
		}
		k.Include("b")
		if n, err := Ask(k, "a", pass{To: "b"}); err != nil || n != 1 {
			t.Errorf("the entity itself answers with %d, %v", n, err)
		}
	})
}

// Other types are stubs on the same node.
func TestStub(t *testing.T) {
	both(t, func(t *testing.T) {
		n := NewNode(t, "backend", "frontend")
		typ := sumType(nil, nil)
		typ.Name, typ.Role, typ.New = "front", "frontend", nil
		front := Stub(n, typ)
		front.Answer(func(string, command) (any, error) { return 3, nil })
		typ = sumType(nil, nil)
		typ.New = func(*sharding.Context[command]) sharding.Entity[command] {
			return receives(func(c *sharding.Context[command], _ command) error {
				n, err := sharding.Ask(c, front.Region().Ref("f"), total{})
				if err != nil {
					return err
				}
				return c.Reply(n)
			})
		}
		k := On(n, typ)
		wants(t, k, "a", 3)
		if sent := front.Sent(); len(sent) != 1 || sent[0].To != "f" {
			t.Errorf("%+v", sent)
		}
	})
}

type receives func(*sharding.Context[command], command) error

func (f receives) Receive(c *sharding.Context[command], m command) error { return f(c, m) }

func TestBox(t *testing.T) {
	both(t, func(t *testing.T) {
		k := kit(t)
		b := k.Box("box")
		tells(t, k, "a", post{"hello"})
		if got := b.Posts(); len(got) != 1 || string(got[0]) != "hello" {
			t.Errorf("%q", got)
		}
	})
}

// A question whose answer comes by a later message.
func TestStartAsk(t *testing.T) {
	both(t, func(t *testing.T) {
		k := kit(t)
		q := StartAsk(k, "a", reply{})
		if q.Answered() {
			t.Error("it was answered")
		}
		tells(t, k, "a", add{4})
		if n, err := q.Wait(); !q.Answered() || err != nil || n != 4 {
			t.Errorf("answered %t: %d, %v", q.Answered(), n, err)
		}
		began := k.Now()
		if _, err := Ask(k, "a", reply{}); !errors.Is(err, sharding.ErrTimeout) || k.Now().Sub(began) < 10*time.Second {
			t.Errorf("without an answer: %v after %v", err, k.Now().Sub(began))
		}
	})
}

// An entity that is a Carrier or a Continuer, or none of these, is under test what it is elsewhere.
func TestWatchedEntities(t *testing.T) {
	both(t, func(t *testing.T) {
		typ := sumType(nil, nil)
		var carried, continued int
		typ.New = func(c *sharding.Context[command]) sharding.Entity[command] {
			if c.ID() == "plain" {
				return receives(func(*sharding.Context[command], command) error { return nil })
			}
			return front{&carried, &continued}
		}
		k := New(t, typ)
		for _, id := range []string{"plain", "front"} {
			tells(t, k, id, add{1})
			k.Do(func() {
				if err := k.Region().SendRaw(id, []byte("x")); err != nil {
					t.Error(err)
				}
			})
			if err := k.Passivate(id); err != nil || k.Active(id) || k.Stops(id) != 1 {
				t.Errorf("%s: %v, active %t, %d stops", id, err, k.Active(id), k.Stops(id))
			}
		}
		if drops := k.Drops(); len(drops) != 1 || drops[0].ID != "plain" ||
			drops[0].Reason != sharding.DropUnregistered || carried != 1 || continued != 1 {
			t.Errorf("dropped %v, carried %d, continued %d", drops, carried, continued)
		}
		tells(t, k, "front", add{1})
		k.Do(func() {
			if err := k.Region().SendRaw("other", []byte("x")); err != nil {
				t.Error(err)
			}
		})
		if sent := k.Others().Sent(); len(sent) != 1 || sent[0].To != "other" || string(sent[0].Raw) != "x" {
			t.Errorf("%+v", sent)
		}
	})
}

// front is a Carrier and a Continuer, which awaits with each message.
type front struct{ carried, continued *int }

func (f front) Receive(c *sharding.Context[command], _ command) error {
	a, err := c.Await()
	if err == nil {
		a.Continue(func(*sharding.Context[command]) error { return nil })
	}
	return err
}

func (f front) Carried(*sharding.Context[command], []byte) error {
	*f.carried++
	return nil
}

func (f front) Continue(c *sharding.Context[command], rest func(*sharding.Context[command]) error) error {
	*f.continued++
	return rest(c)
}

// In a bubble handlers may read the clock, start goroutines, and wait for them.
func TestGoroutinesInABubble(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := sumType(nil, nil)
		typ.New = func(*sharding.Context[command]) sharding.Entity[command] {
			return receives(func(c *sharding.Context[command], _ command) error {
				began := time.Now()
				a, err := c.Await()
				go func() {
					<-time.After(3 * time.Second)
					a.Continue(func(c *sharding.Context[command]) error {
						return c.Reply(int(time.Since(began) / time.Second))
					})
				}()
				return err
			})
		}
		k := New(t, typ)
		q := StartAsk(k, "a", total{})
		k.Advance(2 * time.Second)
		if q.Answered() || !k.Now().Equal(time.Now()) {
			t.Error("the bubble has another time")
		}
		if n, err := q.Wait(); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}
