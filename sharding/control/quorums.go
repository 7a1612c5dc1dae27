package control

import (
	"math"
	"time"

	"github.com/coterie-go/coterie/replicator/quorum"
)

// Quorums say of how many replicas the state is read and written, and how long that may take.
type Quorums struct {
	Write, Read               quorum.Level
	WriteTimeout, ReadTimeout time.Duration
}

// readLimit is how long a read may take that has failed so often in a row.
func (q Quorums) readLimit(failed uint) time.Duration { return longer(q.ReadTimeout, failed) }

// WriteLimit is how long a write may take that has failed so often in a row.
func (q Quorums) WriteLimit(failed uint) time.Duration { return longer(q.WriteTimeout, failed) }

func longer(limit time.Duration, failed uint) time.Duration {
	for range min(failed, 5) {
		limit += min(limit, math.MaxInt64-limit)
	}
	return limit
}
