package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/coterie-go/coterie/ddata/transport/tcp"
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
func TCP() Network { return tcp.Network{KeepAlive: defaultKeepAlive, UserTimeout: defaultWriteTimeout} }

var _ Network = tcp.Network{}

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
