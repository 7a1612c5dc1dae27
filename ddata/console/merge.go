package console

import "github.com/coterie-go/coterie/ddata/console/api"

// nodeShards is what one node says of some shards of a type.
type nodeShards struct {
	node string // uid
	api.Shards
}

// merge makes one answer of those of several nodes about the same shards. A node that hosts a shard is believed before
// others, then the node self, then the first; what waits is added up. ok is false without answers.
func merge(self string, all []nodeShards) (x api.Shards, ok bool) {
	if len(all) == 0 {
		return api.Shards{Shards: []api.Shard{}}, false
	}
	base := 0
	for i, p := range all {
		if p.node == self {
			base = i
		}
	}
	x = all[base].Shards
	x.Shards = append([]api.Shard{}, x.Shards...)
	index := make(map[int]int, len(x.Shards))
	for i := range x.Shards {
		index[x.Shards[i].Shard] = i
		x.Shards[i].Buffered = 0
	}
	for _, p := range all {
		for _, s := range p.Shards.Shards {
			i, known := index[s.Shard]
			if !known {
				continue
			}
			t := &x.Shards[i]
			t.Buffered += s.Buffered
			if t.Moving == nil {
				t.Moving = s.Moving
			}
			switch {
			case s.Node == p.node:
				t.Node, t.Entities, t.Active, t.Waits = s.Node, s.Entities, s.Active, s.Waits
			case t.Node == "":
				t.Node = s.Node
			}
		}
	}
	return x, true
}
