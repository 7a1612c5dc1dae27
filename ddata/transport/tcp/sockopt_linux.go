package tcp

import (
	"syscall"
	"time"
)

const tcpUserTimeout = 18 // TCP_USER_TIMEOUT of linux/tcp.h, which package syscall does not name

// setUserTimeout makes the kernel give up a connection whose bytes stay unacknowledged for d.
// Sockets that are accepted inherit it from their listener.
func setUserTimeout(fd uintptr, d time.Duration) error {
	return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d/time.Millisecond))
}
