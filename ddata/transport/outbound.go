package transport

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/address"
)

// outbound is all links of a node: those to its peers, and those of SendAddr.
//
// Locks: mu may be held while a lock of a link is taken, never the other way round. It is held over
// no wait and no callback.
type outbound struct {
	ports
	peers  atomic.Pointer[map[NodeID]*peer] // a change replaces it
	closed atomic.Bool                      // no new links; set under mu

	mu    sync.Mutex
	addrs map[string]*link // of SendAddr
}

// peer is a node that links are kept to.
type peer struct {
	control, bulk *link
	data          []*link
}

func (p *peer) all() []*link { return append([]*link{p.control, p.bulk}, p.data...) }

func (p *peer) link(lane Lane, stripe uint32) (*link, error) {
	switch lane {
	case Control:
		return p.control, nil
	case Data:
		return p.data[stripe%uint32(len(p.data))], nil
	case Bulk:
		return p.bulk, nil
	}
	return nil, fmt.Errorf("%w: %v", ErrBadLane, lane)
}

// init makes links with the given ports; all waits for their goroutines too.
func (o *outbound) init(ctx context.Context, local *local, c *channels, r *reporter, all *sync.WaitGroup) {
	o.cfg, o.ctx, o.n, o.report, o.channels, o.all = local.cfg, ctx, r.n, r, c, all
	o.dialler = dialler{local: local, n: r.n, report: r}
	o.addrs = map[string]*link{}
	o.peers.Store(&map[NodeID]*peer{})
}

// peer finds a peer.
func (o *outbound) peer(id NodeID) (*peer, bool) {
	p, ok := (*o.peers.Load())[id]
	return p, ok
}

// link finds the link of a peer.
func (o *outbound) link(to NodeID, lane Lane, stripe uint32) (*link, error) {
	p, ok := (*o.peers.Load())[to]
	if !ok {
		return nil, o.noPeer(to)
	}
	return p.link(lane, stripe)
}

func (o *outbound) noPeer(to NodeID) error {
	if o.closed.Load() {
		return ErrClosed
	}
	if to == o.cfg.Self {
		return ErrSelf
	}
	o.n.drop(DropNoPeer, 1)
	return ErrNoPeer
}

// target is the address of a peer.
func (o *outbound) target(id NodeID) (addr string, known bool) {
	p, known := o.peer(id)
	if !known {
		return "", false
	}
	return p.control.target(), true
}

// dialNow has the links to a node dial at once, if it is a peer.
func (o *outbound) dialNow(id NodeID) {
	if p, ok := o.peer(id); ok {
		for _, l := range p.all() {
			signal(l.kick)
		}
	}
}

// isPeer reports whether links are kept to a node.
func (o *outbound) isPeer(id NodeID) bool {
	_, ok := o.peer(id)
	return ok
}

// add wants links to a node, which dial the address from now on.
func (o *outbound) add(id NodeID, addr string) (*peer, error) {
	p, err := o.want(id, addr)
	if err != nil {
		return nil, err
	}
	for _, l := range p.all() {
		l.move(addr)
	}
	return p, nil
}

// want finds or makes a peer.
func (o *outbound) want(id NodeID, addr string) (*peer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed.Load() {
		return nil, ErrClosed
	}
	if p, known := o.peer(id); known {
		return p, nil
	}
	p := o.newPeer(id, addr)
	next := maps.Clone(*o.peers.Load())
	next[id] = p
	o.peers.Store(&next)
	return p, nil
}

func (o *outbound) newPeer(id NodeID, addr string) *peer {
	p := &peer{
		control: newLink(&o.ports, id, addr, Control, 0),
		bulk:    newLink(&o.ports, id, addr, Bulk, 0),
		data:    make([]*link, o.cfg.DataStripes),
	}
	for i := range p.data {
		p.data[i] = newLink(&o.ports, id, addr, Data, uint32(i))
	}
	return p
}

// remove takes a peer away. Its links are the caller's to close.
func (o *outbound) remove(id NodeID) (*peer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, ok := o.peer(id)
	if ok {
		next := maps.Clone(*o.peers.Load())
		delete(next, id)
		o.peers.Store(&next)
	}
	return p, ok
}

// addrLink finds or makes the link to the process that listens at addr.
func (o *outbound) addrLink(addr string) (*link, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l, ok := o.addrs[addr]; ok {
		return l, nil
	}
	if o.closed.Load() {
		return nil, ErrClosed
	}
	if err := address.CheckPeer(addr); err != nil {
		return nil, err
	}
	if len(o.addrs) >= addrLinksMax {
		return nil, ErrQueueFull
	}
	l := newLink(&o.ports, 0, addr, Control, 0)
	l.retire = func() bool { return o.retire(l, addr) }
	o.addrs[addr] = l
	return l, nil
}

// retire ends a link of SendAddr that has nothing to write. It reports whether it did.
func (o *outbound) retire(l *link, addr string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !l.q.retire() {
		return false
	}
	if o.addrs[addr] == l {
		delete(o.addrs, addr)
	}
	return true
}

// answering is the node that answered at an address of SendAddr.
func (o *outbound) answering(addr string) (NodeID, bool) {
	o.mu.Lock()
	l := o.addrs[addr]
	o.mu.Unlock()
	if l == nil {
		return 0, false
	}
	return l.answering()
}

// close makes no more links, and returns those that there are: the caller's to close.
func (o *outbound) close() []*link {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed.Store(true)
	links := slices.Collect(maps.Values(o.addrs)) // order: each is closed on its own
	for _, p := range *o.peers.Load() {
		links = append(links, p.all()...)
	}
	return links
}

// flush waits until the peers have received what was queued in the Data lane. It waits for all
// connections side by side: a dead peer has one on each stripe.
func (o *outbound) flush(ctx context.Context) error {
	var links []*link
	for _, p := range *o.peers.Load() { // order: the errors of one call
		links = append(links, p.data...)
	}
	errs := make([]error, len(links))
	var wg sync.WaitGroup
	for i, l := range links {
		wg.Go(func() { errs[i] = l.awaitReceived(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
