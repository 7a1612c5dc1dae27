package workload

import (
	"math/rand/v2"
	"time"
)

// Client draws the process through which a client comes now; nil: none runs. next is called when another
// one comes, after gap on the average.
func Client(w World, rng *rand.Rand, gap time.Duration, next func()) Process {
	w.After(time.Duration(rng.ExpFloat64()*float64(gap))+1, nil, next)
	all := w.Processes()
	if len(all) == 0 {
		return nil
	}
	return all[rng.IntN(len(all))]
}
