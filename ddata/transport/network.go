package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// Network makes the byte connections that a Mesh runs over. TCP is the default; package memory
// has one for tests. Closing a connection must end its pending reads and writes, and what was
// written before Close should still reach the other side.
type Network interface {
	// Listen listens at addr (host:port); port 0 picks a free one. A taken address is an error that
	// wraps syscall.EADDRINUSE.
	Listen(ctx context.Context, addr string) (net.Listener, error)
	// Dial connects to addr until ctx ends.
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// TCP is the default Network with default times, for a caller that wraps it.
func TCP() Network { return tcpNetwork{keepAlive: defaultKeepAlive, userTimeout: defaultWriteTimeout} }

// tcpNetwork is TCP with keep-alive and, where the kernel has it, a bound on unacknowledged bytes.
type tcpNetwork struct {
	keepAlive, userTimeout time.Duration
}

var _ Network = tcpNetwork{}

func (n tcpNetwork) keepAliveConfig() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: n.keepAlive, Interval: n.keepAlive, Count: 3}
}

func (n tcpNetwork) control(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) { err = setUserTimeout(fd, n.userTimeout) }); e != nil {
		return e
	}
	return err
}

func (n tcpNetwork) Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: n.control, KeepAliveConfig: n.keepAliveConfig()}
	return lc.Listen(ctx, "tcp", addr)
}

func (n tcpNetwork) Dial(ctx context.Context, addr string) (net.Conn, error) {
	d := net.Dialer{Control: n.control, KeepAliveConfig: n.keepAliveConfig()}
	return d.DialContext(ctx, "tcp", addr)
}

// listenError says what to do about a listener that could not be opened.
func listenError(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: %s: another process listens there (an earlier one of this service that still runs?); "+
			"stop it, or set another port, or port 0 for a free one: %w",
			ErrAddrInUse, addr, err)
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("%w: %s: no interface of this machine has that address; "+
			"bind to 0.0.0.0 or to a local address, and set Advertise to what others dial: %w",
			ErrBadAddr, addr, err)
	}
	return fmt.Errorf("transport: listen at %s: %w", addr, err)
}
