package child

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Lowest lets all other processes go before this one, at once: as if it were on a machine of its own. Those of the
// lowest priority, but of the usual policy, keep a processor for milliseconds that somebody else wants.
func Lowest() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	for _, t := range threads { // those that are started later are as the one that starts them
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedSetAttr(id, &idle, 0)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has not ended meanwhile
			return err
		}
	}
	return nil
}
