package reminded

import (
	"context"
	"strconv"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/stall"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
)

// Command is what is sent to entities.
type Command interface{ command() }

// Context is that of their handlers.
type Context = sharding.Context[Command]

type (
	// Set has a reminder set, a time ahead.
	Set struct {
		Slot  int           `cbor:"1,keyasint"`
		Ahead time.Duration `cbor:"2,keyasint"`
		Every time.Duration `cbor:"3,keyasint"` // 0: it comes once
	}
	// Cancel has one taken away.
	Cancel struct {
		Slot int `cbor:"1,keyasint"`
	}
	// Fire is what a reminder brings.
	Fire struct {
		Number uint64 `cbor:"1,keyasint"` // its own in the world
	}
)

func (Set) command()    {}
func (Cancel) command() {}
func (Fire) command()   {}

// send sends one command after another, from any process, until the world has healed.
func (e *Entities) send() {
	if e.w.Healed() {
		return
	}
	p := workload.Client(e.w, e.rng, e.opt.Gap, e.send)
	if p == nil {
		return
	}
	region := e.regions[p.UID()]
	id, slot := strconv.Itoa(e.rng.IntN(e.opt.Entities)), e.rng.IntN(slots)
	var m Command
	switch {
	case random.Chance(e.rng, e.opt.Cancels):
		m = Cancel{slot}
	case random.Chance(e.rng, e.opt.Repeats):
		m = Set{slot, time.Duration(e.rng.Int64N(int64(e.opt.Ahead))), e.opt.Every}
	default:
		m = Set{slot, time.Duration(e.rng.Int64N(int64(e.opt.Ahead))), 0}
	}
	if region == nil || !p.Usable() {
		return
	}
	p.Enter(func() {
		ctx, cancel := p.WithTimeout(context.Background(), stall.AskState)
		defer cancel()
		_ = region.Tell(ctx, id, m) // the entity asks for it, or does not: the judge hears when it does
	})
}
