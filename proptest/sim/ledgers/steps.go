package ledgers

import (
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// reading names a read of a coordinator.
type reading struct {
	uid uint64
	typ string
	id  uint64
}

// Stepped judges a step of the coordinator of a process, in an era of the cluster.
func (l *Ledgers) Stepped(p journals.Holder, typ string, of view.Era, in any, fx *protocol.CoordinatorEffects) {
	if l.store == nil {
		return
	}
	b := l.of(ledger.TypeName(typ))
	if in, is := in.(protocol.DidRead); is {
		at := reading{p.UID(), typ, in.ID}
		if r, known := l.reads[at]; known && in.Err == nil {
			l.counts.Read++
			b.read(r, in)
		}
		delete(l.reads, at)
	}
	for _, r := range fx.Read {
		if r.Kind == protocol.StateHomes || r.Kind == protocol.StateRegions {
			l.reads[reading{p.UID(), typ, r.ID}] = r
		}
	}
	for _, env := range fx.Send {
		switch m := env.Msg.(type) {
		case protocol.Homes:
			for _, e := range m.Entries {
				l.counts.Told++
				b.told(of, e)
			}
		case protocol.HostShards:
			for _, s := range m.Shards {
				l.counts.Told++
				b.told(of, protocol.Entry{Shard: s.Shard, Home: env.To, Token: s.Token})
			}
		}
	}
}
