package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coterie-go/coterie/bench/measure"
)

const payload = 100 // bytes of a message in every bench

// pingPong is the limit that requests are held against: n callers over one connection, requests
// multiplexed by number, a writer and a reader goroutine on each side, batched by what waits.
func pingPong(n int, d time.Duration) (measure.Load, error) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return measure.Load{}, err
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go echo(c)
		}
	}()
	return pingPongTo(server.Addr().String(), n, d)
}

// pingPongTo runs the callers against an echo that listens at addr.
func pingPongTo(addr string, n int, d time.Duration) (measure.Load, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return measure.Load{}, err
	}
	defer conn.Close()
	replies := make([]chan struct{}, n)
	for i := range replies {
		replies[i] = make(chan struct{}, 1)
	}
	out := newOutbox(conn)
	defer out.close()
	broken := make(chan struct{})
	go func() {
		defer close(broken)
		readFrames(conn, func(b []byte) { replies[binary.BigEndian.Uint32(b)] <- struct{}{} })
	}()
	frames := make([][]byte, n)
	for i := range frames {
		frames[i] = make([]byte, payload)
		binary.BigEndian.PutUint32(frames[i], uint32(i))
	}
	return measure.Callers(n, d, func(c, _ int) error {
		out.put(frames[c])
		select {
		case <-replies[c]:
			return nil
		case <-broken:
			return errors.New("raw echo: the connection broke")
		}
	})
}

// echo answers every frame with itself.
func echo(c net.Conn) {
	out := newOutbox(c)
	defer out.close()
	readFrames(c, out.put)
}

// readFrames calls fn for each length-prefixed frame until the connection ends.
func readFrames(c net.Conn, fn func([]byte)) {
	r := bufio.NewReaderSize(c, 256<<10)
	var head [4]byte
	buf := make([]byte, 0, 1024)
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(head[:]))
		if n > cap(buf) {
			buf = make([]byte, 0, n)
		}
		if _, err := io.ReadFull(r, buf[:n]); err != nil {
			return
		}
		fn(buf[:n])
	}
}

// outbox is a batched writer: each put appends under a lock, and one goroutine swaps and writes.
type outbox struct {
	mu     sync.Mutex
	ready  sync.Cond
	buf    []byte
	closed bool
	conn   net.Conn
}

func newOutbox(c net.Conn) *outbox {
	o := &outbox{conn: c}
	o.ready.L = &o.mu
	go o.write()
	return o
}

func (o *outbox) put(frame []byte) {
	o.mu.Lock()
	for len(o.buf) > 256<<10 && !o.closed {
		o.ready.Wait()
	}
	o.buf = binary.BigEndian.AppendUint32(o.buf, uint32(len(frame)))
	o.buf = append(o.buf, frame...)
	o.mu.Unlock()
	o.ready.Broadcast()
}

func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.ready.Broadcast()
}

func (o *outbox) write() {
	var spare []byte
	for {
		o.mu.Lock()
		for len(o.buf) == 0 && !o.closed {
			o.ready.Wait()
		}
		if o.closed {
			o.mu.Unlock()
			return
		}
		full := o.buf
		o.buf = spare[:0]
		o.mu.Unlock()
		o.ready.Broadcast()
		if _, err := o.conn.Write(full); err != nil {
			o.close()
			return
		}
		spare = full
	}
}
