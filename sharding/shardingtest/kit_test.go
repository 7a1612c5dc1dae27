package shardingtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
		if k.Active("a") || stops != 1 {
			t.Errorf("active %t, %d stops", k.Active("a"), stops)
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
		var causes []string
		for _, p := range k.Passivations("a") {
			causes = append(causes, p.String())
		}
		if got := fmt.Sprint(causes); got != "[it was asked for idle for too long it was asked for]" {
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
