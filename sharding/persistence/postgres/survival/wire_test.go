package survival

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence/postgres/postgrestest"
)

// wires lead from one node to the server. They can hold what the node sends with a text in it, as a
// network may, and let everything else through.
type wires struct {
	addr   string // of the server
	listen net.Listener
	wg     sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	all     map[*wire]bool
	texts   [][]byte // are held
	closed  bool
}

// wire is one connection.
type wire struct {
	node, server net.Conn
	held         int // which of texts it holds or has held, from 1; 0 for none
	answers      int // bytes that the server has sent since
}

func newWires(t testing.TB, server *postgrestest.Server) *wires {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wires{addr: server.Addr(), listen: listen, all: map[*wire]bool{}}
	w.changed = sync.NewCond(&w.mu)
	w.wg.Go(w.accept)
	t.Cleanup(w.close)
	return w
}

// dsn is the connection string of the server behind the wires.
func (w *wires) dsn() string {
	_, port, _ := net.SplitHostPort(w.listen.Addr().String()) // it is one
	return fmt.Sprintf("host=127.0.0.1 port=%s user=%s dbname=postgres sslmode=disable", port, postgrestest.User)
}

func (w *wires) accept() {
	for {
		node, err := w.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.addr)
		if err != nil {
			_ = node.Close()
			continue
		}
		x := &wire{node: node, server: server}
		w.mu.Lock()
		w.all[x] = true
		closed := w.closed
		w.mu.Unlock()
		if closed {
			w.end(x)
			return
		}
		w.wg.Go(func() { w.toServer(x) })
		w.wg.Go(func() { w.toNode(x) })
	}
}

// toServer passes on what the node sends, when it is not held.
func (w *wires) toServer(x *wire) {
	defer w.end(x)
	b := make([]byte, 64<<10)
	for {
		n, err := x.node.Read(b)
		if err != nil {
			return
		}
		w.mu.Lock()
		if i := w.find(b[:n]); i > 0 {
			x.held, x.answers = i, 0
			w.changed.Broadcast()
			for len(w.texts) > 0 && !w.closed {
				w.changed.Wait()
			}
		}
		w.mu.Unlock()
		if _, err := x.server.Write(b[:n]); err != nil {
			return
		}
	}
}

func (w *wires) toNode(x *wire) {
	defer w.end(x)
	b := make([]byte, 64<<10)
	for {
		n, err := x.server.Read(b)
		if err != nil {
			return
		}
		w.mu.Lock()
		x.answers += n
		w.changed.Broadcast()
		w.mu.Unlock()
		if _, err := x.node.Write(b[:n]); err != nil {
			return
		}
	}
}

func (w *wires) end(x *wire) {
	_, _ = x.node.Close(), x.server.Close() // it ends in any case
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, x)
	w.changed.Broadcast()
}

// hold keeps what the node sends from now on with one of some texts in it, until release.
func (w *wires) hold(texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range texts {
		w.texts = append(w.texts, []byte(s))
	}
	for x := range w.all { // order: each by itself
		x.held = 0
	}
}

// find returns which of the texts is in b, from 1; 0 for none.
func (w *wires) find(b []byte) int {
	return 1 + slices.IndexFunc(w.texts, func(s []byte) bool { return bytes.Contains(b, s) })
}

func (w *wires) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = nil
	w.changed.Broadcast()
}

// heldAll waits until each of the texts is held.
func (w *wires) heldAll(ctx context.Context) error {
	return w.wait(ctx, func() bool {
		seen := map[int]bool{}
		for x := range w.all { // order: a set is made
			seen[x.held] = true
		}
		delete(seen, 0)
		return len(seen) == len(w.texts)
	})
}

// answered waits until the server has answered what was held.
func (w *wires) answered(ctx context.Context) error {
	return w.wait(ctx, func() bool {
		for x := range w.all { // order: all are looked at
			if x.held > 0 && x.answers == 0 {
				return false
			}
		}
		return true
	})
}

func (w *wires) wait(ctx context.Context, until func() bool) error {
	defer context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !until() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.changed.Wait()
	}
	return nil
}

func (w *wires) close() {
	_ = w.listen.Close()
	w.mu.Lock()
	w.closed = true
	for x := range w.all { // order: each by itself
		_, _ = x.node.Close(), x.server.Close()
	}
	w.changed.Broadcast()
	w.mu.Unlock()
	w.wg.Wait()
}
