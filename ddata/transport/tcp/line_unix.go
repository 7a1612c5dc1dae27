//go:build unix

package tcp

import (
	"net"
	"syscall"
)

// Line writes to a connection what the kernel takes at once. One goroutine uses it at a time, and
// none writes to the connection in another way meanwhile.
type Line struct {
	raw   syscall.RawConn
	write func(fd uintptr) // bound once
	b     []byte
	n     int
}

// LineOf returns the line of a connection; nil: it is not a socket itself, but stands above one, as
// that of TLS does.
func LineOf(conn net.Conn) *Line {
	tc, is := conn.(*net.TCPConn)
	if !is {
		return nil
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return nil
	}
	l := &Line{raw: raw}
	l.write = l.writeTo
	return l
}

// TryWrite writes as much of b as the kernel has room for, and returns how much that is. It never
// waits, and looks at no deadline. Of an error it says nothing: a Write of the connection meets it
// again.
func (l *Line) TryWrite(b []byte) (written int) {
	l.b, l.n = b, 0
	_ = l.raw.Control(l.write) // a closed connection takes nothing
	l.b = nil
	return l.n
}

func (l *Line) writeTo(fd uintptr) {
	for {
		n, err := syscall.Write(int(fd), l.b)
		if err == syscall.EINTR {
			continue
		}
		l.n = max(0, n)
		return
	}
}
