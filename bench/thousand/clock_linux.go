package thousand

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of this thread, which others on the machine do not stretch; 0: unknown.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
