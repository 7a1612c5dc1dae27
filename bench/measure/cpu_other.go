//go:build !unix

package measure

import "time"

// CPUTime is not known here; the figures that stand on it are then 0.
func CPUTime() time.Duration { return 0 }
