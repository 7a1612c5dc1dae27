package tcp

import (
	"context"
	"net"
	"syscall"
	"time"
)

// Network listens and dials.
type Network struct {
	// KeepAlive is the idle time after which a connection is probed, and the time between probes.
	KeepAlive time.Duration
	// UserTimeout is after how long without an acknowledgement the kernel gives a connection up.
	UserTimeout time.Duration
}

func (n Network) keepAliveConfig() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: n.KeepAlive, Interval: n.KeepAlive, Count: 3}
}

func (n Network) control(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = setUserTimeout(fd, n.UserTimeout) }); e != nil {
		return e
	}
	return err
}

// Listen listens at addr (host:port).
func (n Network) Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: n.control, KeepAliveConfig: n.keepAliveConfig()}
	return lc.Listen(ctx, "tcp", addr)
}

// Dial connects to addr until ctx ends.
func (n Network) Dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Control: n.control, KeepAliveConfig: n.keepAliveConfig()}
	return d.DialContext(ctx, "tcp", addr)
}
