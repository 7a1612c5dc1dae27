package transport

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
)

// caller is a sender whose connections and handshakes a test makes up.
type caller struct {
	t *testing.T
	m *Mesh
	h hello
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	m.Handle(1, HandlerFunc(func(NodeID, []byte) {}))
	return &caller{t: t, m: m, h: hello{
		Cluster: "c", From: 1, To: 2, Addr: "127.0.0.1:9", Lane: Data, Formats: format.Build(),
	}}
}

// connect says hello, of a sender that has written and knows so many frames, and reads the welcome.
func (c *caller) connect(written, acked uint64) (net.Conn, answer) {
	c.t.Helper()
	conn, err := net.Dial("tcp", c.m.Addr())
	if err != nil {
		c.t.Fatal(err)
	}
	c.h.Generation++
	c.h.Written, c.h.Acked = written, acked
	hs, err := appendHandshake(nil, kindLink, c.h)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := conn.Write(hs); err != nil {
		c.t.Fatal(err)
	}
	k, body, err := readHandshake(conn)
	if err != nil {
		c.t.Fatal(err)
	}
	a, err := decodeAnswer(k, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn, a
}

// greet is connect and the end of the connection.
func (c *caller) greet(written, acked uint64) answer {
	c.t.Helper()
	conn, a := c.connect(written, acked)
	conn.Close()
	return a
}

// A sender that has not heard that its count is lost hears it again, until its hello says that it
// has.
func TestALostCountIsToldUntilTheSenderKnows(t *testing.T) {
	c := newCaller(t)
	for range 3 { // of these the sender reads none
		if a := c.greet(5, 2); !a.Fresh || a.Received != 5 {
			t.Fatalf("received %d, fresh %t; of frames 3 to 5 nothing is known", a.Received, a.Fresh)
		}
	}
	if a := c.greet(5, 5); a.Fresh || a.Received != 5 { // it has read the fourth, and given up 3 to 5
		t.Errorf("received %d, fresh %t; the sender knows of all 5", a.Received, a.Fresh)
	}
	conn, _ := c.connect(5, 5)
	if _, err := conn.Write(appendFrame(appendFrame(nil, 1, []byte("6")), 1, []byte("7"))); err != nil {
		t.Fatal(err)
	}
	for got := uint64(5); got < 7; { // its receipts do not reach the sender
		b := make([]byte, 8)
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Fatal(err)
		}
		got = binary.LittleEndian.Uint64(b)
	}
	conn.Close()
	if a := c.greet(8, 5); a.Fresh || a.Received != 7 {
		t.Errorf("received %d, fresh %t; of 6 to 8 two have come", a.Received, a.Fresh)
	}
}

// A sender with nothing on its way loses nothing when its count is forgotten.
func TestALostCountOfNothingIsNoLoss(t *testing.T) {
	if a := newCaller(t).greet(5, 5); a.Fresh || a.Received != 5 {
		t.Errorf("received %d, fresh %t", a.Received, a.Fresh)
	}
}

// A link that was removed and added again begins at its first frame, whatever its predecessor has
// sent.
func TestANewLinkIsCountedFromItsFirstFrame(t *testing.T) {
	c := newCaller(t)
	c.greet(5, 5)
	if a := c.greet(0, 0); a.Fresh || a.Received != 0 {
		t.Errorf("received %d, fresh %t", a.Received, a.Fresh)
	}
}
