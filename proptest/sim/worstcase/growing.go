package worstcase

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// growth plays, again and again, the worst case of a view that grows: the oldest is cut off from an
// island of the second oldest and joiners, while those between reach both. At the moment when the
// view that drops the oldest and takes the joiners in commits, the island is cut off altogether.
// Old and new quorum then have almost no member in common, only their promises.
type growth struct{ Stage }

// Growing plays views that grow, with a cut at the moment when they commit.
func Growing(s Stage) { s.After(8*time.Second, growth{s}.once) }

func (g growth) once() {
	if g.Healed() {
		return
	}
	first, second, ok := g.TwoOldest()
	if !ok {
		g.Net.Cut(nil)
		g.After(5*time.Second, g.once)
		return
	}
	old := g.View(first)
	island := map[int]bool{second: true}
	grown := 0
	for i := range g.Slots() {
		if !g.Runs(i) && grown <= len(old.Members) {
			grown++
			island[i] = true
			g.After(g.between(0, 3*time.Second), func() {
				if !g.Healed() {
					g.Start(i)
				}
			})
		}
	}
	g.Note("CHAOS growing view: n%d against n%d and %d joiners", first, second, grown)
	g.OnInstall(nil)
	g.Net.Cut(func(a, b int) bool {
		switch {
		case a == first && island[b], b == first && island[a]:
			return true
		case island[a] != island[b]:
			return a != second && b != second
		}
		return false
	})
	oldest := old.Voters()[0].UID
	g.OnInstall(func(v *view.View) {
		if g.Healed() || v.Epoch <= old.Epoch || v.Has(oldest) && g.Rng.IntN(3) != 0 {
			return
		}
		g.OnInstall(nil)
		g.Note("CHAOS the island is cut off")
		g.Net.Cut(func(a, b int) bool { return island[a] != island[b] })
	})
	g.After(g.between(25*time.Second, 35*time.Second), func() {
		g.OnInstall(nil)
		if g.Healed() {
			return
		}
		g.Net.Cut(nil)
		g.thinOut()
		g.After(g.between(20*time.Second, 40*time.Second), g.once)
	})
}
