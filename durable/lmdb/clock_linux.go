package lmdb

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// kernelClock reads CLOCK_MONOTONIC, which all processes share until the kernel ends. It stands
// still during a suspend, where CLOCK_BOOTTIME goes on by what a clock with a resolution of a
// second says.
func kernelClock() (m moment, known bool) {
	var t unix.Timespec
	if m.clock, known = clockName(); !known || unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return moment{}, false
	}
	m.since, m.wall = t.Nano(), time.Now().UnixNano()
	return m, true
}

// clockName names the clock of this process: by the boot of the kernel, and by the time namespace,
// which sets the clock's beginning. A process stays in its namespace, and namespaces do not change
// while processes are in them.
var clockName = sync.OnceValues(func() (name [16]byte, known bool) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	id := strings.TrimSpace(string(boot))
	if err != nil || len(id) != len("01234567-89ab-cdef-0123-456789abcdef") {
		return name, false
	}
	space, err := timeNamespace("/proc/self")
	if err != nil {
		return name, false
	}
	return xxh3.HashString128(id + "\n" + space).Bytes(), true
})

// timeNamespace names the time namespace of a process with what it adds to the clocks. The name
// alone may be used again.
func timeNamespace(proc string) (string, error) {
	if _, err := os.Stat(proc + "/ns"); err != nil {
		return "", err
	}
	own, err := os.Readlink(proc + "/ns/time")
	if errors.Is(err, fs.ErrNotExist) {
		return "none", nil // the kernel has no time namespaces
	}
	if err != nil {
		return "", err
	}
	children, err := os.Readlink(proc + "/ns/time_for_children")
	if err != nil {
		return "", err
	}
	if own != children { // the offsets below are those of the children
		return "", errors.New("the process has left its time namespace to its children")
	}
	offsets, err := os.ReadFile(proc + "/timens_offsets")
	if err != nil {
		return "", err
	}
	return own + "\n" + string(offsets), nil
}
