package sharding

import (
	"math"
	"time"

	"github.com/coterie-go/coterie/replicator/quorum"
)

// quorums say of how many replicas the state is read and written, and how long that may take.
type quorums struct {
	write, read               quorum.Level
	writeTimeout, readTimeout time.Duration
}

// readLimit is how long a read may take that has failed so often in a row.
func (q quorums) readLimit(failed uint) time.Duration { return longer(q.readTimeout, failed) }

// writeLimit is how long a write may take that has failed so often in a row.
func (q quorums) writeLimit(failed uint) time.Duration { return longer(q.writeTimeout, failed) }

func longer(limit time.Duration, failed uint) time.Duration {
	for range min(failed, 5) {
		limit += min(limit, math.MaxInt64-limit)
	}
	return limit
}
