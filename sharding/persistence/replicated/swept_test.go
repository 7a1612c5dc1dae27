package replicated_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

// manySeats is how many seats it takes until rows are swept, with some to spare.
const manySeats = 70

// sweptAway has an owner write while it is cut off. The write counts in the seat that follows it, of the
// hosting next. Before the owner looks for the outcome, the write is deleted, and follow has the rows
// swept. It returns what the owner gets.
func sweptAway(
	t *testing.T, next persistence.Hosting, follow func(b, c *replicated.Store), mistakes ...func(*replicated.Store),
) (refused []persistence.Refusal, err error) {
	p := startParted(t, mistakes...)
	a, b, c := p.stores[0], p.stores[1], p.stores[2]
	appended(t, a, hosting(1), write("e", 0, "1"))
	p.cut()
	opposed, swept, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	replicated.Reach(a, "opposed", func() {
		close(opposed)
		<-swept
	})
	go func() {
		defer close(answered)
		refused, err = a.Append(patience(t), hosting(1), []persistence.Write{write("e", 1, "2")})
	}()
	eventually(t, "the write of the old owner", func() bool { return a.Holds(t, hosting(1), "e") == 2 })
	replicated.Reach(b, "announced", func() {
		p.wires.HealAll()
		select {
		case <-opposed:
		case <-patience(t).Done():
			t.Error("the old owner has not found that it is opposed")
		}
	})
	appended(t, b, next, write("other", 0, "x"))
	if got := bodies(t, b, next, "e"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("the write of the old owner does not count: %q", got)
	}
	appended(t, b, next, write("e", 2, "3"))
	must(t, b.Delete(patience(t), next, "e", 3))
	follow(b, c)
	close(swept)
	<-answered
	return refused, err
}

// A write that counted, and of which nothing is left when its owner looks for the outcome, is neither
// said to have had no effect nor refused: its outcome is not known.
func TestAnOutcomeThatWasSweptAway(t *testing.T) {
	for name, c := range map[string]struct {
		next   persistence.Hosting
		follow func(b, c *replicated.Store)
	}{
		"by later hostings": {hosting(2), func(b, _ *replicated.Store) {
			for i := range uint64(manySeats) {
				must(t, b.Fence(patience(t), hosting(3+i)))
			}
		}},
		"by seats of its hosting": {hosting(1), func(b, c *replicated.Store) {
			for i := range uint64(manySeats) {
				appended(t, []*replicated.Store{c, b}[i%2], hosting(1), write("other", i+1, "x"))
			}
		}},
	} { // order: each has a cluster of its own
		t.Run(name, func(t *testing.T) {
			refused, err := sweptAway(t, c.next, c.follow)
			if err == nil || errors.Is(err, persistence.ErrFenced) || !strings.Contains(err.Error(), "is not known") {
				t.Errorf("it says %v, refused %v", err, refused)
			}
			refused, err = sweptAway(t, c.next, c.follow, replicated.Guesses)
			if len(refused) == 0 && !errors.Is(err, persistence.ErrFenced) {
				t.Errorf("the planted mistake is not caught: %v", err)
			}
		})
	}
}
