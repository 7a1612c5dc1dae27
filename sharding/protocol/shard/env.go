package shard

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// env is what all parts of a shard share: how far the shard is, the time of the Step, and the
// effects.
type env struct {
	cfg     protocol.Config
	id      protocol.ShardID
	phase   shardPhase
	handOff protocol.Token // of draining to stopped
	fx      protocol.ShardEffects
	now     time.Time
}

// begin begins a Step.
func (e *env) begin(now time.Time) {
	e.fx = protocol.ShardEffects{
		Write: e.fx.Write[:0], Read: e.fx.Read[:0], Lease: e.fx.Lease[:0], Do: e.fx.Do[:0], Reply: e.fx.Reply[:0],
		Region: e.fx.Region[:0], Notify: e.fx.Notify[:0],
	}
	e.now = now
}

func (e *env) do(a protocol.ShardAction) { e.fx.Do = append(e.fx.Do, a) }

func (e *env) tell(in protocol.RegionInput) { e.fx.Region = append(e.fx.Region, in) }

func (e *env) notify(ev protocol.Event) {
	ev.Shard = e.id
	e.fx.Notify = append(e.fx.Notify, ev)
}

type shardPhase uint8

const (
	shardClosed shardPhase = iota
	shardLeasing
	shardLoading
	shardOpen
	shardDraining
	shardDrained
	shardStopping
	shardReturning
	shardStopped
)

var shardPhaseNames = [...]string{
	"closed", "leasing", "loading", "open", "draining", "drained", "stopping", "returning", "stopped",
}
