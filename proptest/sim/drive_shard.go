package sim

import "github.com/coterie-go/coterie/ddata/membership"

// shardDriver carries out what the sharding machines of a process want.
type shardDriver struct{ p *Process }

func newShardDriver(p *Process) *shardDriver { return &shardDriver{p: p} }

func (d *shardDriver) start()                   {}
func (d *shardDriver) receive(packet)           {}
func (d *shardDriver) linkReset(*Process)       {}
func (d *shardDriver) install(*membership.View) {}
func (d *shardDriver) lease()                   {}
func (d *shardDriver) stop()                    { d.p.mem.sayStopped() }
