package tcp

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// What a Network says of an idle connection, and of one whose other side is gone, is what the kernel
// is told, at both ends.
func TestKernelIsToldTimes(t *testing.T) {
	n := Network{KeepAlive: 7 * time.Second, UserTimeout: 11 * time.Second}
	l, err := n.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := n.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	const userTimeout = 18 // TCP_USER_TIMEOUT
	for _, c := range []net.Conn{dialled, accepted} {
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []struct{ level, name, want int }{
			{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1}, {syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 7},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 7},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3}, {syscall.IPPROTO_TCP, userTimeout, 11_000},
		} {
			var got int
			var failed error
			if err := raw.Control(func(fd uintptr) {
				got, failed = syscall.GetsockoptInt(int(fd), o.level, o.name)
			}); err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			if got != o.want {
				t.Errorf("option %d/%d is %d, want %d", o.level, o.name, got, o.want)
			}
		}
	}
}
