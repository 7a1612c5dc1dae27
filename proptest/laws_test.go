package proptest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
)

func TestToy(t *testing.T) { toyLaws[sound]().Check(t) }

// TestEachDefectBreaksItsLaw proves that the laws are awake: types with a defect, each of which
// must break one of the laws that it may within a number of histories.
func TestEachDefectBreaksItsLaw(t *testing.T) {
	for name, c := range map[string]struct {
		s    *subject
		laws []law
	}{
		"removesWin": {toyLaws[removesWin]().subject(), []law{valuesAreTheModels}},
		"lazy":       {toyLaws[lazy]().subject(), []law{valuesAreTheModels, updatesInflate}},
		"deaf":       {toyLaws[deaf]().subject(), []law{valuesAreTheModels, updatesInflate}},
		"greedy":     {toyLaws[greedy]().subject(), []law{valuesAreTheModels, updatesInflate}},
		"untidy":     {toyLaws[untidy]().subject(), []law{itemsAreInPlace}},
		"tombstones": {toyLaws[tombstones]().subject(), []law{metadataIsBounded}},
		"abroad":     {toyLaws[abroad]().subject(), []law{itemsAreInPlace, updatesInflate, valuesAreTheModels}},
		"blind":      {toyLaws[blind]().subject(), []law{strangersAreRefused}},
		"trusting":   {toyLaws[trusting]().subject(), []law{strangersAreRefused}},
		"shuffled":   {toyLaws[shuffled]().subject(), []law{updatesAreRepeatable}},
		"leaking":    {toyLaws[leaking]().subject(), []law{valuesAreTheModels, updatesInflate}},
		"moody": {
			toyLaws[moody]().subject(), []law{mergesAgree, updatesInflate, groupsAreDeltas, valuesAreTheModels},
		},
		"lent":  {toyLaws[lent]().subject(), []law{viewsNeverChange, valuesAreTheModels}},
		"stale": {toyLaws[stale]().subject(), []law{valuesAreTheModels, updatesInflate}},
		// An update that fails is seen in the history itself. If it has none of that kind, it is
		// seen when operations are repeated.
		"refusing":  {toyLaws[refusing]().subject(), []law{updatesInflate, metadataIsBounded}},
		"panicking": {toyLaws[panicking]().subject(), []law{updatesInflate, metadataIsBounded}},
	} {
		t.Run(name, func(t *testing.T) { mustBreak(t, c.laws, c.s.history) })
	}
}

// TestEachDefectOfTheStoreIsFound does the same with a sound type on a store that has a defect.
func TestEachDefectOfTheStoreIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		defects defect.Set
		laws    []law
	}{
		"ClockBeforeItems": {defect.Of(defect.ClockBeforeItems), []law{mergesAgree, valuesAreTheModels}},
		"DropLosingSibling": {
			defect.Of(defect.DropLosingSibling), []law{groupsAreDeltas, valuesAreTheModels, digestsAgree},
		},
		"BareFactWithoutRemover": {
			defect.Of(defect.BareFactWithoutRemover), []law{
				mergesAgree, valuesAreTheModels, digestsAgree, logsShipDifferences,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := toyLaws[sound]().subject()
			s.plant.defects = c.defects
			mustBreak(t, c.laws, s.history)
		})
	}
}

// TestEachLawOfStatesIsAwake takes the laws that a store keeps for its types one by one: a sound
// history, then something broken between the states and the law, and that law alone must see it.
func TestEachLawOfStatesIsAwake(t *testing.T) {
	for name, c := range map[string]struct {
		law   law
		check func(*world) error
		plant func(*port)
	}{
		"merges keep what was removed": {mergesAgree, semilattice, func(p *port) {
			p.merge = func(
				s merger, donor *crdt.Clock, live func(crdt.Dot) bool, items []crdt.Item, ch *crdt.Changes,
			) error {
				return s.Merge(donor, func(crdt.Dot) bool { return true }, items, ch)
			}
		}},
		"groups depend on their order": {groupsAreDeltas, anyOrder, func(p *port) {
			p.defects.Plant(defect.Of(defect.DropLosingSibling))
		}},
		"merges of one item are lost": {statesDecompose, decomposes, func(p *port) {
			p.merge = func(
				s merger, donor *crdt.Clock, live func(crdt.Dot) bool, items []crdt.Item, ch *crdt.Changes,
			) error {
				if len(items) == 1 {
					return nil
				}
				return s.Merge(donor, live, items, ch)
			}
		}},
		"a redundant dot": {statesDecompose, decomposes, func(p *port) {
			p.merge = func(
				s merger, donor *crdt.Clock, live func(crdt.Dot) bool, items []crdt.Item, ch *crdt.Changes,
			) error {
				more := donor.Clone()
				for r := range donor.Ranges() {
					more.AddRange(r.Origin, 1, r.Last)
				}
				return s.Merge(more, live, items, ch)
			}
		}},
		"payloads of groups are lost": {encodingsComeBack, survivesTheWire, func(p *port) {
			p.group = func(g crdt.Group) (crdt.Group, error) {
				g = slices.Clone(g)
				for i := range g {
					g[i].Payload = ""
				}
				return g, nil
			}
		}},
		"items come in another order": {encodingsComeBack, survivesTheWire, func(p *port) {
			p.items = func(items []crdt.Item) ([]crdt.Item, error) {
				items = slices.Clone(items)
				slices.Reverse(items)
				return items, nil
			}
		}},
		"a digest that is not kept": {digestsAgree, incremental, func(p *port) {
			p.digest = func(s *crdt.Store) crdt.Digest { return s.Digest().Plus(crdt.Digest{0, 1}) }
		}},
		"a log that ships too much": {logsShipDifferences, since, func(p *port) {
			p.missing = func(s *crdt.Store, peer *crdt.Clock, n int) ([]crdt.Group, bool, bool) {
				_, more, covered := s.Missing(peer, n)
				gs, _, all := s.Missing(&crdt.Clock{}, 1<<30)
				return gs, more, covered && all
			}
		}},
		"a log that ships too little": {logsShipDifferences, since, func(p *port) {
			p.missing = func(s *crdt.Store, peer *crdt.Clock, n int) ([]crdt.Group, bool, bool) {
				gs, more, covered := s.Missing(peer, n)
				return gs[:len(gs)/2], more, covered
			}
		}},
		"trimming that does nothing": {trimmingChangesNothing, trimmed, func(p *port) {
			p.trim = func(*crdt.Replica, *crdt.Clock) {}
		}},
		"trimming of more than the log": {trimmingChangesNothing, trimmed, func(p *port) {
			p.trim = func(r *crdt.Replica, c *crdt.Clock) {
				r.Trim(c)
				_, _ = r.Update("k", 0, func(tx *crdt.Tx) error { _, err := tx.RemoveAll(""); return err }, nil)
			}
		}},
		"an old copy that comes back": {trimmingChangesNothing, trimmed, func(p *port) {
			p.merge = func(
				s merger, donor *crdt.Clock, live func(crdt.Dot) bool, items []crdt.Item, ch *crdt.Changes,
			) error {
				var absent crdt.Clock
				for _, it := range items {
					absent.Add(it.Dot)
				}
				return s.Merge(&absent, func(crdt.Dot) bool { return false }, nil, ch)
			}
		}},
		"a disk that forgets payloads": {disksHoldStates, prefixes, func(p *port) {
			p.row = func(it crdt.Item) crdt.Item { it.Payload = ""; return it }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			mustBreak(t, []law{c.law}, func(t *rapid.T, where place) error {
				w := toyLaws[sound]().subject().newWorld(t, where)
				t.Repeat(w.actions())
				if w.failed != nil {
					return w.failed
				}
				c.plant(&w.plant)
				return c.check(w)
			})
		})
	}
}

const historiesMax = 400

// mustBreak runs histories in stores until one breaks a law, which must be one of those named.
func mustBreak(t *testing.T, laws []law, history func(*rapid.T, place) error) {
	t.Helper()
	histories := rapid.Custom(func(t *rapid.T) error { return history(t, inStore) })
	for seed := range historiesMax {
		err := histories.Example(seed)
		if err == nil {
			continue
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		t.Logf("history %d: %s", seed, first)
		if v := new(violation); !errors.As(err, &v) || !slices.Contains(laws, v.law) {
			t.Errorf("wanted one of the laws %q:\n%v", laws, err)
		}
		return
	}
	t.Fatalf("%d histories, and no law is broken", historiesMax)
}
