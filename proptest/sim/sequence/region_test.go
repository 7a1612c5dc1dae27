package sequence

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/protocol"
)

func do(all ...protocol.RegionAction) *protocol.RegionEffects {
	return &protocol.RegionEffects{Do: all}
}

func token(n uint64) protocol.Token { return protocol.Token{Epoch: n} }

func remote(n uint64) *protocol.RegionEffects {
	return do(protocol.SetRoute{Shard: 3, Route: protocol.Route{State: protocol.RouteRemote, Home: 9, Token: token(n)}})
}

func kill(why protocol.Reason) *protocol.RegionEffects {
	return do(protocol.KillShard{Shard: 3, Reason: why})
}

// Each cause is found in the step that brings it, and a move as planned brings none.
func TestCauses(t *testing.T) {
	stop, close := do(protocol.StopShard{Shard: 3}), do(protocol.CloseShard{Shard: 3})
	type step struct {
		at int64
		in any
		fx *protocol.RegionEffects // nil: the process ends
	}
	for name, c := range map[string]struct {
		steps []step
		want  Cause // Causes: none
	}{
		"a move":                     {[]step{{5, nil, stop}, {6, nil, close}, {7, nil, nil}}, Causes},
		"a move while waiting":       {[]step{{4, protocol.ShardWaits{Shard: 3}, do()}, {5, nil, stop}}, Waiting},
		"a move as soon as it waits": {[]step{{5, protocol.ShardWaits{Shard: 3}, stop}}, Waiting},
		"another shard waits":        {[]step{{4, protocol.ShardWaits{Shard: 2}, do()}, {5, nil, stop}}, Causes},
		"a stop by force":            {[]step{{5, nil, do(protocol.StopShard{Shard: 3, Force: true})}}, Forced},
		"a lost lease":               {[]step{{5, nil, kill(protocol.DropLeaseLost)}}, Lost},
		"a node lost":                {[]step{{5, nil, kill(protocol.DropNodeLost)}}, Death},
		"a home elsewhere":           {[]step{{5, nil, kill(protocol.DropHomeElsewhere)}}, Causes},
		"an end":                     {[]step{{5, nil, nil}}, Death},
		"a move when it has its lease": {[]step{{3, protocol.ShardWaits{Shard: 3}, do()},
			{4, protocol.ShardLeased{Shard: 3}, do()}, {5, nil, stop}}, Causes},
	} {
		t.Run(name, func(t *testing.T) {
			var j Judge
			r := j.Region(1, 1)
			r.Stepped(1, nil, do(protocol.StartShard{Shard: 3}))
			for _, s := range c.steps {
				if s.fx == nil {
					r.End(s.at)
				} else {
					r.Stepped(s.at, s.in, s.fx)
				}
			}
			all := j.broken[Shard{Type: 1, Number: 3}]
			for why := range Causes {
				if want := map[bool]int64{true: 5}[why == c.want]; all[why].until != want {
					t.Errorf("cause %d at %d, want %d", why, all[why].until, want)
				}
			}
		})
	}
}

// After a lost lease there is no order until no region sends to the home before.
func TestNoOrderUntilAllKnow(t *testing.T) {
	s := Shard{Type: 1, Number: 3}
	unknown := do(protocol.SetRoute{Shard: 3})
	stays := func(*Judge, *Region) {}
	steps := func(at int64, fx *protocol.RegionEffects) func(*Judge, *Region) {
		return func(_ *Judge, r *Region) { r.Stepped(at, nil, fx) }
	}
	for name, c := range map[string]struct {
		lost    protocol.Reason
		lagging func(*Judge, *Region)
		want    bool
	}{
		"still sends there":   {protocol.DropLeaseLost, stays, true},
		"holds what comes":    {protocol.DropLeaseLost, steps(9, unknown), false},
		"holds it too late":   {protocol.DropLeaseLost, steps(10, unknown), true},
		"knows the next home": {protocol.DropLeaseLost, steps(9, remote(6)), false},
		"knows one before":    {protocol.DropLeaseLost, steps(9, remote(4)), true},
		"ends":                {protocol.DropLeaseLost, func(_ *Judge, r *Region) { r.End(9) }, false},
		"is closed, and again": {protocol.DropLeaseLost, func(j *Judge, _ *Region) {
			j.Region(2, 1).Stepped(9, nil, unknown)
		}, false},
		"hears late of the home before": {protocol.DropLeaseLost, func(_ *Judge, r *Region) {
			for i, fx := range []*protocol.RegionEffects{unknown, remote(5), remote(6)} {
				r.Stepped(9+int64(i), nil, fx)
			}
		}, true},
		"hears late of later homes": {protocol.DropLeaseLost, func(_ *Judge, r *Region) {
			for i, fx := range []*protocol.RegionEffects{unknown, remote(6), remote(7)} {
				r.Stepped(9+int64(i), nil, fx)
			}
		}, false},
		"hears late of it after a death": {protocol.DropNodeLost, func(_ *Judge, r *Region) {
			for i, fx := range []*protocol.RegionEffects{unknown, remote(5), remote(6)} {
				r.Stepped(9+int64(i), nil, fx)
			}
		}, false},
		"after a death": {protocol.DropNodeLost, stays, false},
	} {
		t.Run(name, func(t *testing.T) {
			var j Judge
			home, other := j.Region(1, 1), j.Region(2, 1)
			j.Region(2, 0).Stepped(1, nil, remote(5)) // another type
			home.Stepped(1, nil, do(protocol.StartShard{Shard: 3, Token: token(2)}))
			home.Stepped(2, nil, do(protocol.SetRoute{Shard: 3,
				Route: protocol.Route{State: protocol.RouteLocal, Token: token(5)}}))
			other.Stepped(3, nil, remote(5))
			home.Stepped(4, nil, kill(c.lost))
			c.lagging(&j, other)
			if ok := handled(t, &j, s); ok != c.want {
				t.Errorf("a message that was sent at 10 is excused: %v, want %v", ok, c.want)
			}
		})
	}
}
