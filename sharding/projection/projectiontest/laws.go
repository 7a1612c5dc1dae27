package projectiontest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/projection"
)

const parts = 3

// Run holds an implementation to the laws. It calls open for each of them: two ways to one store,
// such as two nodes, without what an earlier law has left. They may be the same.
func Run(t *testing.T, open func(t *testing.T) (a, b projection.Offsets)) {
	for _, l := range []struct {
		name string
		run  func(l *law)
	}{
		{"begins at the beginning", begins}, {"goes on at what was saved", goesOn},
		{"fences earlier claims", fences}, {"keeps parts apart", apart}, {"pauses", pauses},
		{"resets", resets}, {"refuses other parts", otherParts}, {"claims side by side", sideBySide},
		{"looks", looks},
	} {
		t.Run(l.name, func(t *testing.T) {
			a, b := open(t)
			l.run(&law{t, a, b})
		})
	}
}

// law is one test, with two ways to the store.
type law struct {
	*testing.T
	a, b projection.Offsets
}

func part(n int) projection.Part { return projection.Part{Number: n, Of: parts} }

// claim takes a part over, and checks where it goes on.
func (l *law) claim(o projection.Offsets, n int, want projection.Progress) projection.Claim {
	l.Helper()
	c, at, err := o.Claim(l.Context(), "p", part(n))
	if err != nil {
		l.Fatal(err)
	}
	if !same(at, want) {
		l.Fatalf("part %d goes on at %+v, want %+v", n, at, want)
	}
	if c.Projection != "p" || c.Part != n || c.Number == 0 {
		l.Fatalf("claim %+v of part %d", c, n)
	}
	return c
}

func same(a, b projection.Progress) bool {
	return a.At.Equal(b.At) && a.Offset == b.Offset && a.Handled == b.Handled && a.Omitted == b.Omitted
}

func (l *law) save(o projection.Offsets, c projection.Claim, at projection.Progress) {
	l.Helper()
	l.must(o.Save(l.Context(), c, at))
}

func (l *law) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *law) is(got, want error) {
	l.Helper()
	if !errors.Is(got, want) {
		l.Fatalf("%v, want %v", got, want)
	}
}

// progress is some progress, different for each number.
func progress(n int) projection.Progress {
	return projection.Progress{Offset: offset(n), At: time.UnixMicro(int64(n) * 1_000_001).UTC(), Handled: uint64(n),
		Omitted: uint64(n / 2)}
}

func begins(l *law) {
	for n := range parts {
		l.claim(l.a, n, projection.Progress{})
	}
}

func goesOn(l *law) {
	c := l.claim(l.a, 1, projection.Progress{})
	for n := range 5 {
		l.save(l.a, c, progress(n))
	}
	l.save(l.a, l.claim(l.b, 1, progress(4)), progress(2)) // what was saved last counts, not what is highest
	l.claim(l.a, 1, progress(2))
}

func fences(l *law) {
	first := l.claim(l.a, 1, projection.Progress{})
	l.save(l.a, first, progress(1))
	second := l.claim(l.b, 1, progress(1))
	if second.Number <= first.Number {
		l.Fatalf("claim %d after %d", second.Number, first.Number)
	}
	l.is(l.a.Save(l.Context(), first, progress(2)), projection.ErrFenced)
	second = l.claim(l.b, 1, progress(1)) // the refused one has left nothing
	l.save(l.b, second, progress(3))
	l.is(l.a.Save(l.Context(), first, progress(4)), projection.ErrFenced)
	third := l.claim(l.b, 1, progress(3))
	l.is(l.b.Save(l.Context(), second, progress(5)), projection.ErrFenced)
	l.save(l.b, third, progress(6))
}

func apart(l *law) {
	var claims []projection.Claim
	for n := range parts {
		claims = append(claims, l.claim(l.a, n, projection.Progress{}))
	}
	for n, c := range claims {
		l.save(l.a, c, progress(n+1))
	}
	other, at, err := l.b.Claim(l.Context(), "another", projection.Part{Of: 1})
	l.must(err)
	if !same(at, projection.Progress{}) {
		l.Fatalf("another projection goes on at %+v", at)
	}
	l.save(l.b, other, progress(9))
	for n := range claims {
		l.claim(l.b, n, progress(n+1))
	}
}

func pauses(l *law) {
	c := l.claim(l.a, 1, projection.Progress{})
	l.save(l.a, c, progress(1))
	l.must(l.b.Pause(l.Context(), "p", true))
	l.must(l.b.Pause(l.Context(), "p", true))
	for _, o := range []projection.Offsets{l.a, l.b} {
		_, _, err := o.Claim(l.Context(), "p", part(1))
		l.is(err, projection.ErrPaused)
	}
	l.must(l.a.Pause(l.Context(), "p", false))
	l.claim(l.b, 1, progress(1))
	l.must(l.a.Pause(l.Context(), "of which there is nothing", true))
	_, _, err := l.b.Claim(l.Context(), "of which there is nothing", part(1))
	l.is(err, projection.ErrPaused)
}

func resets(l *law) {
	var claims []projection.Claim
	for n := range parts {
		claims = append(claims, l.claim(l.a, n, projection.Progress{}))
		l.save(l.a, claims[n], progress(n+1))
	}
	l.must(l.b.Pause(l.Context(), "p", true))
	l.must(l.b.Reset(l.Context(), "p", parts, offset(17)))
	for n, c := range claims {
		l.is(l.a.Save(l.Context(), c, progress(n+2)), projection.ErrFenced)
	}
	_, _, err := l.b.Claim(l.Context(), "p", part(0))
	l.is(err, projection.ErrPaused) // a reset does not end the pause
	l.must(l.a.Pause(l.Context(), "p", false))
	for n := range parts {
		c := l.claim(l.a, n, projection.Progress{Offset: offset(17)})
		if c.Number <= claims[n].Number {
			l.Fatalf("claim %d after %d", c.Number, claims[n].Number)
		}
		l.save(l.a, c, progress(n))
	}
	l.must(l.a.Reset(l.Context(), "p", parts, ""))
	for n := range parts {
		l.claim(l.b, n, projection.Progress{})
	}
	l.must(l.a.Reset(l.Context(), "new", parts, offset(3)))
	_, at, err := l.b.Claim(l.Context(), "new", part(2))
	l.must(err)
	if at.Offset != offset(3) {
		l.Fatalf("a projection that was reset before its first claim goes on at %+v", at)
	}
}

func otherParts(l *law) {
	c := l.claim(l.a, 1, projection.Progress{})
	l.save(l.a, c, progress(1))
	_, _, err := l.b.Claim(l.Context(), "p", projection.Part{Number: 1, Of: parts + 1})
	l.is(err, projection.ErrParts)
	l.is(l.b.Reset(l.Context(), "p", parts-1, ""), projection.ErrParts)
	l.save(l.a, c, progress(2))
	l.claim(l.b, 1, progress(2))
}

// sideBySide: of many that claim a part at one time, at both doors, one can save when they are done.
func sideBySide(l *law) {
	const each = 8
	claims := make([]projection.Claim, 2*each)
	errs := make([]error, len(claims))
	var all sync.WaitGroup
	for i := range claims {
		all.Go(func() { claims[i], _, errs[i] = l.door(i).Claim(l.Context(), "p", part(0)) })
	}
	all.Wait()
	l.must(errors.Join(errs...))
	var winners []int
	numbers := map[uint64]bool{}
	for i, c := range claims {
		numbers[c.Number] = true
		switch err := l.door(i).Save(l.Context(), c, progress(i)); {
		case err == nil:
			winners = append(winners, i)
		default:
			l.is(err, projection.ErrFenced)
		}
	}
	if len(winners) != 1 || len(numbers) != len(claims) {
		l.Fatalf("claims %v can save; there are %d different numbers", winners, len(numbers))
	}
	l.claim(l.b, 0, progress(winners[0]))
}

func (l *law) door(i int) projection.Offsets { return []projection.Offsets{l.a, l.b}[i%2] }

// looks: what one has done is seen at the same door at once.
func looks(l *law) {
	s, err := l.a.Look(l.Context(), "p")
	l.must(err)
	if s.Paused || len(s.Parts) != 0 {
		l.Fatalf("of nothing there is %+v", s)
	}
	c := l.claim(l.a, 1, projection.Progress{})
	l.save(l.a, c, progress(3))
	l.must(l.a.Pause(l.Context(), "p", true))
	s, err = l.a.Look(l.Context(), "p")
	l.must(err)
	if !s.Paused || len(s.Parts) != parts || s.Parts[1].Claim < c.Number || !same(s.Parts[1].Progress, progress(3)) ||
		s.Parts[0].Claim != 0 {
		l.Fatalf("%+v, of claim %d", s, c.Number)
	}
	l.must(l.a.Reset(l.Context(), "p", parts, ""))
	s, err = l.a.Look(l.Context(), "p")
	l.must(err)
	if s.Parts[1].Claim <= c.Number || !same(s.Parts[1].Progress, projection.Progress{}) {
		l.Fatalf("%+v after a reset, which is no newer than claim %d", s, c.Number)
	}
}

func offset(n int) persistence.Offset { return persistence.Offset(fmt.Sprint("offset ", n)) }
