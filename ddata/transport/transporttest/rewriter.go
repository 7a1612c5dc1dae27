package transporttest

import (
	"context"
	"net"
	"os"

	"github.com/coterie-go/coterie/ddata/transport"
)

var errTimeout = os.ErrDeadlineExceeded

// rewriter is a Network whose dialled connections claim 4 GiB for every frame.
type rewriter struct{ network transport.Network }

// Listen listens.
func (r rewriter) Listen(ctx context.Context, addr string) (net.Listener, error) {
	return r.network.Listen(ctx, addr)
}

// Dial dials.
func (r rewriter) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := r.network.Dial(ctx, addr)
	return &liar{Conn: conn}, err
}

// liar alters the length in all writes but the first, which is the hello.
type liar struct {
	net.Conn
	greeted bool
}

// Write writes b, or a lie.
func (l *liar) Write(b []byte) (int, error) {
	if l.greeted {
		b = append(append([]byte(nil), huge...), b[len(huge):]...)
	}
	l.greeted = true
	return l.Conn.Write(b)
}
