package replicated_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// events returns what a query finds, each as its entity and its body.
func events(
	t testing.TB, s *replicated.Store, after persistence.Offset,
) (out []string, offsets []persistence.Offset, err error) {
	t.Helper()
	q := persistence.Query{Type: "T", After: after}
	for r, err := range s.Events(patience(t), q) {
		if err != nil {
			return out, offsets, err
		}
		out, offsets = append(out, string(r.Entity)+" "+string(r.Event.Body)), append(offsets, r.Offset)
	}
	return out, offsets, nil
}

// moved has a shard change its owners, and has each of them write. It returns what was wrong with
// queries that go on after each event.
func moved(t *testing.T, mistakes ...func(*replicated.Store)) (wrong []error) {
	c := start(t, t.TempDir(), t.TempDir(), t.TempDir())
	stores := make([]*replicated.Store, len(c.nodes))
	for i, n := range c.nodes {
		stores[i] = open(t, n)
		for _, plant := range mistakes {
			plant(stores[i])
		}
	}
	var want []string
	token := uint64(0)
	for _, owner := range []struct{ node, writes int }{{0, 30}, {1, 2}, {2, 1}, {0, 3}, {1, 1}} {
		token++
		for range owner.writes {
			body := fmt.Sprint(len(want) + 1)
			appended(t, stores[owner.node], hosting(token), write("e", uint64(len(want)), body))
			want = append(want, "e "+body)
		}
	}
	got, offsets, err := events(t, stores[2], "")
	if err != nil || !slices.Equal(got, want) {
		return []error{fmt.Errorf("there is %q, want %q: %v", got, want, err)}
	}
	for i, o := range offsets {
		if got, _, err := events(t, stores[i%3], o); err != nil || !slices.Equal(got, want[i+1:]) {
			wrong = append(wrong, fmt.Errorf("after event %d there is %q: %v", i+1, got, err))
		}
	}
	return wrong
}

// An offset is good under each owner, also where the numbers of its dots are lower.
func TestOffsetsOfAShardThatMoves(t *testing.T) {
	if wrong := moved(t); len(wrong) > 0 {
		t.Error(errors.Join(wrong...))
	}
}

// queried asks for events at an owner that is cut off, while its successor writes.
func queried(t *testing.T, mistakes ...func(*replicated.Store)) (wrong []error) {
	p := startParted(t, mistakes...)
	a, b, old, now := p.stores[0], p.stores[1], hosting(1), hosting(2)
	appended(t, a, old, write("e", 0, "first"))
	p.cut()
	late := make(chan error, 1)
	go func() {
		_, err := a.Append(patience(t), old, []persistence.Write{write("e", 1, "late"), write("f", 0, "late")})
		late <- err
	}()
	eventually(t, "the write of the old owner", func() bool { return a.Holds(t, old, "f") == 1 })
	found := make(chan []string, 1)
	go func() {
		got, _, err := events(t, a, "")
		if err != nil {
			got = append(got, err.Error())
		}
		found <- got
	}()
	appended(t, b, now, write("e", 1, "second"))
	if len(mistakes) > 0 {
		wrong = check(wrong, <-found) // it waits for nothing
		found <- nil
	}
	p.wires.HealAll()
	<-late
	if len(mistakes) == 0 {
		wrong = check(wrong, <-found)
	}
	return wrong
}

func check(wrong []error, got []string) []error {
	if want := []string{"e first", "e second"}; !slices.Equal(got, want) {
		wrong = append(wrong, fmt.Errorf("a query finds %q, want %q", got, want))
	}
	return wrong
}

// A query shows nothing of what an owner wrote that does not count, also at that owner.
func TestAQueryAtAnOwnerThatWasCutOff(t *testing.T) {
	if wrong := queried(t); len(wrong) > 0 {
		t.Error(errors.Join(wrong...))
	}
}

func TestMistakesOfTheReader(t *testing.T) {
	for name, by := range map[string]struct {
		mistake func(*replicated.Store)
		caught  func(*testing.T, ...func(*replicated.Store)) []error
	}{
		"a place without the seat":       {replicated.NoNumbers, moved},
		"a shard that is not listed":     {replicated.Unlisted, moved},
		"what is not settled is yielded": {replicated.OpenReads, queried},
	} { // order: each has a cluster of its own
		t.Run(name, func(t *testing.T) {
			wrong := by.caught(t, by.mistake)
			if len(wrong) == 0 {
				t.Error("not caught")
			}
			t.Log(errors.Join(wrong...))
		})
	}
}

// An offset stays good when nothing is left of what was before it, not even the row of its seat.
func TestAnOffsetOfWhatIsGone(t *testing.T) {
	s := open(t, start(t, t.TempDir()).nodes[0])
	var offsets []persistence.Offset
	const hostings = 200
	for i := range uint64(hostings) {
		appended(t, s, hosting(i+1), write("e", i, fmt.Sprint(i+1)))
		if i%50 == 0 {
			_, some, err := events(t, s, "")
			must(t, err)
			offsets = append(offsets, some[len(some)-1])
		}
		if i < hostings-1 {
			must(t, s.Delete(patience(t), hosting(i+1), "e", i+1))
		}
	}
	if n := s.Rows(t, hosting(hostings)); n > 70 {
		t.Fatalf("%d rows: they were not swept", n)
	}
	for _, o := range offsets {
		if got, _, err := events(t, s, o); err != nil || !slices.Equal(got, []string{"e 200"}) {
			t.Errorf("after %q there is %q: %v", o, got, err)
		}
	}
}

// An offset of another store is told apart from one after which there is nothing yet.
func TestAnOffsetAfterTheEnd(t *testing.T) {
	c := start(t, t.TempDir(), t.TempDir())
	s := open(t, c.nodes[0])
	appended(t, s, hosting(1), write("e", 0, "1"))
	appended(t, open(t, c.nodes[1]), hosting(2), write("e", 1, "2"))
	_, offsets, err := events(t, s, "")
	must(t, err)
	other := open(t, start(t, t.TempDir()).nodes[0])
	appended(t, other, hosting(1), write("e", 0, "1"))
	got, _, err := events(t, other, offsets[1])
	if err == nil || !strings.Contains(err.Error(), "read from the first event") {
		t.Errorf("it yields %q, and the error %v", got, err)
	}
}

// A live query yields what other owners write, and what is in shards that began after it.
func TestALiveQueryFollowsOwnersAndShards(t *testing.T) {
	c := start(t, t.TempDir(), t.TempDir(), t.TempDir())
	q := persistence.Query{Type: "T", Live: true}
	found := make(chan string)
	go func() {
		defer close(found)
		for r, err := range open(t, c.nodes[0]).Events(patience(t), q) {
			if err != nil {
				found <- err.Error()
				return
			}
			if found <- string(r.Entity) + " " + string(r.Event.Body); r.Entity == "last" {
				return
			}
		}
	}()
	next := func(want string) {
		t.Helper()
		if got := <-found; got != want {
			t.Fatalf("it yields %q, want %q", got, want)
		}
	}
	for i := range uint64(9) {
		h := hosting(i/3 + 1)
		h.Shard = protocol.ShardID(i % 3)
		id := protocol.EntityID(fmt.Sprint(i % 3))
		appended(t, open(t, c.nodes[(i+i/3)%3]), h, write(id, i/3, fmt.Sprint(i)))
		next(fmt.Sprintf("%s %d", string(id), i))
	}
	appended(t, open(t, c.nodes[2]), hosting(9), write("last", 0, "x"))
	next("last x")
	if more, ok := <-found; ok {
		t.Errorf("after its end it yields %q", more)
	}
}
