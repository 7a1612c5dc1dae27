package etcdtest

import (
	"net"
	"sync"
	"testing"
)

// Proxy is a listener in front of a member. Its methods may be called concurrently.
type Proxy struct {
	to       string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	open  *sync.Cond // that flows or ended have changed
	flows bool
	ended bool
	conns map[net.Conn]bool
}

// NewProxy starts a proxy for one test, in front of an address.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{to: to, listener: l, flows: true, conns: map[net.Conn]bool{}}
	p.open = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(p.end)
	return p
}

// Addr returns where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Stall lets nothing through until Flow. Connections stay, and what is sent meanwhile waits.
func (p *Proxy) Stall() { p.set(false) }

// Flow lets everything through again, and what has waited.
func (p *Proxy) Flow() { p.set(true) }

func (p *Proxy) set(flows bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flows = flows
	p.open.Broadcast()
}

// Cut closes all connections. New ones are taken.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	p.open.Broadcast()
	p.mu.Unlock()
	p.Cut()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(from) })
	}
}

// serve carries one connection.
func (p *Proxy) serve(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer to.Close()
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.conns[from], p.conns[to] = true, true
	p.mu.Unlock()
	back := make(chan struct{})
	go func() {
		p.carry(from, to)
		close(back)
	}()
	p.carry(to, from)
	<-back
	p.mu.Lock()
	delete(p.conns, from)
	delete(p.conns, to)
	p.mu.Unlock()
}

// carry copies what flows in one direction, and closes both ends after that.
func (p *Proxy) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if !p.wait() {
			return
		}
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
	}
}

// wait waits until the proxy lets something through, and reports whether it goes on.
func (p *Proxy) wait() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.flows && !p.ended {
		p.open.Wait()
	}
	return !p.ended
}
