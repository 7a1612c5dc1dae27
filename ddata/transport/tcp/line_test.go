package tcp

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"
)

// A Line writes what the kernel takes at once, and waits for no room. It is of a socket alone.
func TestLineDoesNotWait(t *testing.T) {
	n := Network{}
	l, err := n.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := n.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	line := LineOf(conn)
	if line == nil || LineOf(tls.Client(conn, &tls.Config{})) != nil || LineOf(struct{ net.Conn }{conn}) != nil {
		t.Fatal("a connection of the kernel has no line, or another one has")
	}
	sent := 0
	for n := -1; n != 0; sent += n {
		n = line.TryWrite(bytes.Repeat([]byte("frame"), 10_000))
	}
	if sent == 0 {
		t.Fatal("nothing is written")
	}
	if read, err := io.CopyN(io.Discard, far, int64(sent)); err != nil {
		t.Errorf("%d of %d bytes come: %v", read, sent, err)
	}
	conn.Close()
	if n := line.TryWrite([]byte("x")); n != 0 {
		t.Errorf("a closed connection takes %d bytes", n)
	}
}
