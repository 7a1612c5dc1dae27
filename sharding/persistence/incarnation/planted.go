package incarnation

import (
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding"
)

// plantedKey is that of what is planted in the entities of a region.
type plantedKey struct{}

// Planted is what is planted in the entities of a region. A test changes it before the first one
// starts.
func Planted[M any](g *sharding.Region[M]) *defect.Set {
	return g.Attach(plantedKey{}, func() any { return &defect.Set{} }).(*defect.Set)
}
