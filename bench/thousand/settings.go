package thousand

import (
	"cmp"
	"flag"
	"fmt"
	"strconv"
	"time"
)

// Settings say what is played.
type Settings struct {
	Nodes    int
	Shards   int // 0: a hundred for each node
	Restarts int // how many nodes are restarted; below 0: all
	AtOnce   int // of these, how many at one time; 0: a hundredth of the nodes
	Latency  time.Duration
	Seed     uint64
}

// Flags has the settings read from flags.
func (s *Settings) Flags(f *flag.FlagSet) {
	f.IntVar(&s.Nodes, "nodes", 1000, "thousand: how many nodes are played")
	f.IntVar(&s.Shards, "shards", 0, "thousand: how many shards there are; 0: a hundred for each node")
	f.IntVar(&s.Restarts, "restarts", -1, "thousand: how many nodes are restarted; below 0: all")
	f.IntVar(&s.AtOnce, "at-once", 0, "thousand: how many nodes restart at one time; 0: a hundredth of all")
	f.DurationVar(&s.Latency, "latency", 500*time.Microsecond, "thousand: how long a message is under way")
	f.Uint64Var(&s.Seed, "seed", 1, "thousand: of what is random")
}

// Args are these settings as flags.
func (s *Settings) Args() []string {
	return []string{
		"-nodes", strconv.Itoa(s.Nodes), "-shards", strconv.Itoa(s.Shards), "-restarts", strconv.Itoa(s.Restarts),
		"-at-once", strconv.Itoa(s.AtOnce), "-latency", s.Latency.String(), "-seed", strconv.FormatUint(s.Seed, 10),
	}
}

const (
	shardsPerNode    = 100
	entitiesPerShard = 100 // of which one is real
)

func (s Settings) withDefaults() Settings {
	s.Shards = cmp.Or(s.Shards, shardsPerNode*s.Nodes)
	s.AtOnce = cmp.Or(s.AtOnce, max(1, s.Nodes/100))
	if s.Restarts < 0 || s.Restarts > s.Nodes {
		s.Restarts = s.Nodes
	}
	return s
}

// What a node and a shard take of memory, at most, all that waits to be collected included.
const (
	bytesOfNode        = 6 << 20
	bytesOfShardOnNode = 200
)

// fits says why what is played does not fit into so much memory; nil: it does.
func (s Settings) fits(free int64) error {
	need := int64(s.Nodes) * (bytesOfNode + int64(s.Shards)*bytesOfShardOnNode)
	if need <= free {
		return nil
	}
	err := fmt.Errorf("%d nodes with %d shards take %d MB of memory, and %d MB are free", s.Nodes, s.Shards,
		need>>20, free>>20)
	if shards := (free/int64(s.Nodes) - bytesOfNode) / bytesOfShardOnNode; shards > 0 {
		return fmt.Errorf("%w: give -shards %d, or fewer -nodes", err, shards)
	}
	return fmt.Errorf("%w: give fewer -nodes", err)
}
