package incarnation

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Tags are those that the user's function has named, as a store takes them: sorted, each once.
//
// Errors: persistence.ErrTooLarge, also for an empty one.
func Tags(named []string) ([]string, error) {
	tags := slices.Clone(named)
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if len(tags) > persistence.TagsMax {
		return nil, fmt.Errorf("%w: it has %d tags, at most %d are possible", persistence.ErrTooLarge, len(tags),
			persistence.TagsMax)
	}
	for _, tag := range tags {
		if tag == "" || len(tag) > persistence.NameMax {
			return nil, fmt.Errorf("%w: a tag has %d bytes, want 1 to %d", persistence.ErrTooLarge, len(tag),
				persistence.NameMax)
		}
	}
	return tags, nil
}

// Now is the time of a region's node, as a store keeps it.
func Now[M any](g *sharding.Region[M]) time.Time {
	return sharding.SchedulerOf(g).Now().UTC().Truncate(time.Microsecond)
}
