package durablestate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// A state is there when its entity comes back, with its tags; one that was deleted is not, and its
// revision counts on.
func TestStatesComeBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		b := Behavior[command, box]{
			Handle: handle, Empty: func(id string) box { return box{[]string{"for", id}} },
			Tags: func(_ string, b box) []string { return []string{"z", fmt.Sprint(len(b.Items)), "z"} },
		}
		g := boxes(t, s, boxType(), b)
		comesBack := func(want string) {
			t.Helper()
			if err := g.Tell(t.Context(), "a", leave{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := g.Stats().Active; n != 0 {
				t.Errorf("%d entities are active", n)
			}
			wants(t, g, want)
		}
		wants(t, g, "for a")
		if x := s.state("a"); x.Revision != 0 {
			t.Error("a question is stored:", x)
		}
		does(t, g, put{Item: "pear"}, 3)
		comesBack("for a pear")
		if x := s.state("a"); x.Revision != 1 || x.Name != "state" || x.Version != 1 || x.At.IsZero() ||
			!slices.Equal(x.Tags, []string{"3", "z"}) {
			t.Error(x)
		}
		does(t, g, clear{}, 2)
		wants(t, g, "for a")
		comesBack("for a")
		if x := s.state("a"); x.Revision != 2 || !x.Deleted || x.Body != nil || x.Tags != nil {
			t.Error(x)
		}
		does(t, g, put{Item: "plum"}, 3)
		comesBack("for a plum")
		if x := s.state("a"); x.Revision != 3 {
			t.Error(x)
		}
	})
}

// A reply waits until the state is stored, and so does what comes behind it.
func TestRepliesOnlyAfterTheCommit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := newShelf(), make(chan struct{})
		g := boxes(t, s, boxType(), Behavior[command, box]{Handle: handle})
		s.hook(func(op string) error {
			if op == "save" {
				<-open
			}
			return nil
		}, s.after)
		sizes, lists := make(chan int, 1), make(chan string, 1)
		go func() {
			n, err := sharding.Ask(t.Context(), g.Ref("a"), put{Item: "pear"})
			if err != nil {
				t.Error(err)
			}
			sizes <- n
		}()
		synctest.Wait()
		go func() {
			l, err := sharding.Ask(t.Context(), g.Ref("a"), list{})
			if err != nil {
				t.Error(err)
			}
			lists <- l
		}()
		synctest.Wait()
		if len(sizes)+len(lists) > 0 || s.state("a").Revision > 0 {
			t.Fatal("answered before the state was stored")
		}
		close(open)
		if n, l := <-sizes, <-lists; n != 1 || l != "pear" {
			t.Error(n, l)
		}
	})
}

// A write that fails fails the entity, and the next incarnation has what is stored, whether that is
// the write or not.
func TestWritesThatFail(t *testing.T) {
	errStore := errors.New("the disk is full")
	for name, c := range map[string]struct {
		lost bool
		err  error
		want string
	}{
		"without effect":     {false, errStore, "one"},
		"in conflict":        {false, persistence.ErrConflict, "one"},
		"the answer is lost": {true, errStore, "one two"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s, typ := newShelf(), boxType()
				failures := make(chan sharding.Failure, 10)
				typ.OnEvent = eventstest.On(func(f sharding.Failure) { failures <- f })
				g := boxes(t, s, typ, Behavior[command, box]{Handle: handle, Calls: fast})
				does(t, g, put{Item: "one"}, 1)
				nothing := func(string) error { return nil }
				fails := func(op string) error {
					if op != "save" {
						return nil
					}
					return c.err
				}
				if c.lost {
					s.hook(nothing, fails)
				} else {
					s.hook(fails, nothing)
				}
				_, err := sharding.Ask(t.Context(), g.Ref("a"), put{Item: "two"})
				if !errors.Is(err, sharding.ErrHandler) || !strings.Contains(err.Error(),
					`save the state number 2 ("state", version 1)`) {
					t.Error(err)
				}
				s.hook(nothing, nothing)
				f := <-failures
				if cause, is := errors.AsType[*Failure](f.Err); !is || !errors.Is(cause, c.err) ||
					f.Directive != sharding.Restart {
					t.Error(f)
				}
				wants(t, g, c.want)
				does(t, g, put{Item: "three"}, len(strings.Fields(c.want))+1)
			})
		})
	}
}

// An Ask that ends while the store hangs names the store, and the call that its entity waits for.
func TestShortAsksHearOfTheStore(t *testing.T) {
	for op, wants := range map[string]string{
		"load": `for 1s for "load state" of its states *durablestate.shelf`,
		"save": `for 1s for "save state" of its states *durablestate.shelf`,
	} {
		bubble.Test(t, func(t *testing.T) {
			s, open := newShelf(), make(chan struct{})
			g := boxes(t, s, boxType(), Behavior[command, box]{Handle: handle})
			s.hook(func(o string) error {
				if o == op {
					<-open
				}
				return nil
			}, s.after)
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := sharding.Ask(short, g.Ref("a"), put{Item: "pear"})
			if !errors.Is(err, sharding.ErrTimeout) || !strings.Contains(err.Error(), wants) {
				t.Errorf("%v, want %q in it", err, wants)
			}
			close(open)
		})
	}
}

// An Effect does not change: two that are made of one have nothing in common but that.
func TestEffectsDoNotChange(t *testing.T) {
	var said []string
	say := func(text string) func(*sharding.Context[command], box) error {
		return func(*sharding.Context[command], box) error {
			said = append(said, text)
			return nil
		}
	}
	base := effect{}
	for range 3 { // so that its slice has room
		base = base.Then(say("base"))
	}
	a, b := base.Then(say("a")), base.Then(say("b"))
	if err := errors.Join(a.finish(nil, box{}), b.finish(nil, box{})); err != nil ||
		strings.Join(said, " ") != "base base base a base base base b" {
		t.Error(said, err)
	}
}

// A deposed owner cannot write.
func TestFenced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		g := boxes(t, s, boxType(), Behavior[command, box]{Handle: handle})
		does(t, g, put{Item: "one"}, 1)
		s.mu.Lock()
		s.fence.Token.Seq += 1000
		s.mu.Unlock()
		if _, err := sharding.Ask(t.Context(), g.Ref("a"), put{Item: "two"}); err == nil {
			t.Error("it was answered")
		}
		if x := s.state("a"); x.Revision != 1 {
			t.Error(x)
		}
	})
}

// States of former versions go through their up-casters. One that cannot be read is a failure, and
// stays as it is.
func TestStoredStates(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		type line struct{ Text string }
		old := schema.CBOR(schema.Type("state", line{}))
		b := Behavior[command, box]{Handle: handle, Schema: schema.CBOR(schema.Type("state", box{},
			schema.From(func(l line) (box, error) {
				if l.Text == "" {
					return box{}, errors.New("an empty line")
				}
				return box{strings.Fields(l.Text)}, nil
			})))}
		for text, want := range map[string]string{
			"x y": "", "": `number 4 ("state", version 1): "state": schema: up-caster failed`,
		} {
			s := newShelf()
			x, err := old.Encode(line{text})
			if err != nil {
				t.Fatal(err)
			}
			stored := persistence.State{Revision: 4, Name: x.Name, Version: x.Version, Body: x.Body}
			s.keep("a", stored)
			g := boxes(t, s, boxType(), b)
			if want == "" {
				wants(t, g, "x y")
				does(t, g, put{Item: "z"}, 3)
				if now := s.state("a"); now.Revision != 5 || now.Version != 2 {
					t.Error(now)
				}
				continue
			}
			if _, err := sharding.Ask(t.Context(), g.Ref("a"), put{Item: "z"}); !errors.Is(err, sharding.ErrHandler) ||
				!strings.Contains(err.Error(), want) {
				t.Error(err)
			}
			if now := s.state("a"); now.Revision != 4 {
				t.Error("replaced by", now)
			}
		}
	})
}

// Started runs before the first message, with the state.
func TestStarted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := newShelf()
		started := make(chan int, 10)
		g := boxes(t, s, boxType(), Behavior[command, box]{
			Handle: handle,
			Started: func(_ *sharding.Context[command], b box) error {
				started <- len(b.Items)
				return nil
			},
		})
		does(t, g, put{Item: "one"}, 1)
		if err := g.Tell(t.Context(), "a", leave{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wants(t, g, "one")
		if first, second := <-started, <-started; first != 0 || second != 1 {
			t.Error(first, second)
		}
	})
}

// All that is missing in a behavior is said together.
func TestValidate(t *testing.T) {
	_, err := Persist(boxType(), Behavior[command, box]{Schema: schema.CBOR[box]()})
	for _, want := range []string{`"box"`, "States: is missing", "Schema: ", "Handle: is missing"} {
		if !errors.Is(err, ErrConfig) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	typ := boxType()
	typ.Timeouts.Ask = 3 * time.Second
	_, err = Persist(typ, Behavior[command, box]{
		States: newShelf(), Handle: handle, Calls: batch.Settings{GiveUpAfter: 3 * time.Second},
	})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "Timeouts.Ask") {
		t.Errorf("askers are given up before writes: %v", err)
	}
	err = Behavior[command, box]{States: (*shelf)(nil), Handle: handle}.Validate()
	if !strings.Contains(fmt.Sprint(err), "States: is a *durablestate.shelf that is nil") {
		t.Errorf("a store that is a nil pointer: %v", err)
	}
}

// Nodes compare where a type keeps its states.
func TestStatesAreCompared(t *testing.T) {
	store := newShelf()
	typ, err := Persist(boxType(), Behavior[command, box]{States: store, Handle: handle})
	if err != nil {
		t.Fatal(err)
	}
	if len(typ.StateStores) != 1 || typ.StateStores[0] != any(store) {
		t.Errorf("compared are %v", typ.StateStores)
	}
}

// The stores that nodes compare are those of the behavior: a type that names others is refused.
func TestStoresAreNamedOnce(t *testing.T) {
	typ := boxType()
	typ.StateStores = []any{newShelf()}
	_, err := Persist(typ, Behavior[command, box]{States: newShelf(), Handle: handle})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "StateStores is set") {
		t.Error(err)
	}
}
