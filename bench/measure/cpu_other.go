//go:build !unix

package measure

import "time"

// cpuTime is not known here; the figures that stand on it are then 0.
func cpuTime() time.Duration { return 0 }
