package gossip

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// rejoin joins what should be listed and is not, until Shutdown.
func (g *Gossip) rejoin() {
	alone := true
	for tries := 0; g.ctx.Err() == nil; tries++ {
		g.joinMissing()
		if some, _, _ := g.others(); some {
			alone = false
		}
		pause := g.cfg.RejoinInterval
		if alone {
			pause = timer.Backoff(joinRetryMin, g.cfg.RejoinInterval, tries)
		}
		t := time.NewTimer(timer.Jitter(pause, rand.N[time.Duration]))
		select {
		case <-t.C:
		case <-g.ctx.Done():
			t.Stop()
		}
	}
}

// joinMissing tries some of the addresses at which a node should be listed and none is.
func (g *Gossip) joinMissing() {
	missing := g.missing()
	rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
	for _, addr := range missing[:min(joinsAtATime, len(missing))] {
		if g.ctx.Err() != nil {
			return
		}
		g.n.joins.Add(1)
		if _, err := g.ml.Join([]string{addr}); err != nil {
			g.n.joinErrors.Add(1)
			g.cfg.OnNote(Note{Text: "cannot join", Addr: addr, Err: err})
		}
	}
}

// missing resolves and lists the addresses at which a node should be listed and none is.
func (g *Gossip) missing() []string {
	_, at, ids := g.others()
	g.mu.Lock()
	want := make([]string, 0, len(g.cfg.Seeds)+len(g.wanted))
	for id, addr := range g.wanted {
		if !ids[id] {
			want = append(want, addr)
		}
	}
	want = append(want, g.found...)
	g.mu.Unlock()
	at[g.self.Addr] = true
	want = append(want, g.cfg.Seeds...)
	var missing []string
	for _, addr := range want {
		if at[addr] {
			continue
		}
		ctx, cancel := context.WithTimeout(g.ctx, resolveTimeout)
		found, err := resolve(ctx, addr)
		cancel()
		if err != nil {
			g.n.joinErrors.Add(1)
			g.cfg.OnNote(Note{Text: "cannot resolve", Addr: addr, Err: err})
			continue
		}
		for _, ip := range found {
			if !at[ip] && !slices.Contains(missing, ip) {
				missing = append(missing, ip)
			}
		}
	}
	return missing
}

// resolve turns host:port into ip:port, once for each address that the host has.
func resolve(ctx context.Context, addr string) ([]string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []string{net.JoinHostPort(ip.Unmap().WithZone("").String(), port)}, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("host %q has no address", host)
	}
	found := make([]string, len(ips))
	for i, ip := range ips {
		found[i] = net.JoinHostPort(ip.Unmap().WithZone("").String(), port)
	}
	return found, nil
}
