package daemon

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding"
)

// entityID is the id of a worker, "revision|total|number|salt": the salt is the first with which
// the id falls into the shard of its number, so that every worker of a revision has a shard of its
// own.
func entityID(w Worker, shards int) string {
	for salt := 0; ; salt++ {
		id := fmt.Sprintf("%d|%d|%d|%d", w.Revision, w.Total, w.Number, salt)
		if int(sharding.ShardOf(id, shards)) == w.Number {
			return id
		}
	}
}

// workerOf reads an id; false: no worker has it.
func workerOf(id string) (w Worker, ok bool) {
	var salt int
	n, err := fmt.Sscanf(id, "%d|%d|%d|%d", &w.Revision, &w.Total, &w.Number, &salt)
	return w, err == nil && n == 4 && w.Number >= 0 && w.Number < w.Total
}

// ids are those of all workers of a revision, in order.
func ids(s State, shards int) []string {
	out := make([]string, s.Count)
	for n := range out {
		out[n] = entityID(Worker{Number: n, Total: s.Count, Revision: s.Revision}, shards)
	}
	return out
}
