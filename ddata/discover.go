package ddata

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
)

// finder asks Config.Discovery: often while the node has no view, at leisure while a member of its
// view is missing, and not at all while all are there.
type finder struct {
	n      *Node
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func startFinder(n *Node) *finder {
	f := &finder{n: n}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	loop := discovery.Loop{Source: n.cfg.Discovery, Pace: f.pace, Found: f.found, Changed: f.changed}
	if n.cfg.Preset == Local {
		loop.RetryMin = 50 * time.Millisecond
	}
	f.wg.Go(func() { loop.Run(ctx) })
	return f
}

// stop waits until nothing more is found; nil is a finder that was never started.
func (f *finder) stop() {
	if f == nil {
		return
	}
	f.cancel()
	f.wg.Wait()
}

// pace implements discovery.Loop: the first pauses are short, and grow to this.
func (f *finder) pace() (most time.Duration, wanted bool) {
	seek, rejoin := 2*time.Second, 10*time.Second
	if f.n.cfg.Preset == Local {
		seek, rejoin = 200*time.Millisecond, time.Second
	}
	v := f.n.View()
	if v.Epoch == 0 {
		return seek, true
	}
	for _, m := range v.Members {
		if m.UID != f.n.uid && !f.n.net.Connected(transport.NodeID(m.UID), transport.Control, 0).Up {
			return rejoin, true
		}
	}
	return rejoin, false
}

// changed tells of an answer that differs from the one before.
func (f *finder) changed(a discovery.Answer) {
	f.n.reports.emit(events.Discovered{Source: discovery.Name(f.n.cfg.Discovery), Addrs: a.Addrs, Err: a.Err})
}

// found hands an answer on. The membership probes the addresses, with the node that listens there
// as far as a connection has shown it. Gossip joins them.
func (f *finder) found(a discovery.Answer) {
	var d membership.Discovered
	if a.Err != nil {
		d.Err = a.Err.Error()
	}
	if len(a.Addrs) == 0 {
		f.n.members.post(d)
		return
	}
	d.Found = make([]bootstrap.Contact, len(a.Addrs))
	for i, addr := range a.Addrs {
		id, _ := f.n.net.AddrPeer(addr)
		d.Found[i] = bootstrap.Contact{UID: view.UID(id), Addr: addr}
	}
	f.n.members.post(d)
	f.n.swim.SetFound(a.Addrs)
}
