package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// Process is this node's part in a set of workers. It ends with the node.
type Process struct {
	cfg    Config
	node   *ddata.Node
	data   *ddata.Replicator
	region *sharding.Region[Command]
	keys   keys

	figures figures
}

type keys struct {
	state ddata.Key[crdt.LWWRegister[State]]
	wish  ddata.Key[crdt.LWWRegister[wish]]
}

// Start takes part in running the workers. Every node of the role starts it.
//
// Errors: ErrConfig, ddata.ErrUnknownRole, and those of sharding.Start and ddata.Node.RunSingleton.
func Start(node *ddata.Node, cfg Config) (*Process, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.WithDefaults()
	data, err := node.Replicator(cfg.Role)
	if err != nil {
		return nil, fmt.Errorf("daemon %q: %w", cfg.Name, err)
	}
	p := &Process{cfg: cfg, node: node, data: data, keys: keys{
		state: ddata.NewKey[crdt.LWWRegister[State]]("daemon/" + cfg.Name + "/state"),
		wish:  ddata.NewKey[crdt.LWWRegister[wish]]("daemon/" + cfg.Name + "/wish"),
	}}
	h := &host{run: cfg.Run, log: node.Host().Log, name: cfg.Name, figures: &p.figures,
		current: func(ctx context.Context) (State, error) {
			ctx, cancel := context.WithTimeout(ctx, cfg.RequestTimeout)
			defer cancel()
			s, _, err := p.read(ctx, ddata.ReadMajority)
			return s, err
		}}
	typ := sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "sharded-daemon-process-" + cfg.Name, Role: cfg.Role, Shards: cfg.WorkersMax},
		Messages: sharding.CBOR[Command](Run{}, Halt{}),
		New:      h.newEntity, Passivation: sharding.Passivation{Strategy: passivation.Strategy{IdleTimeout: -1}},
	}
	if cfg.Adapt != nil {
		cfg.Adapt(&typ)
	}
	if p.region, err = sharding.Start(node, typ); err != nil {
		return nil, fmt.Errorf("daemon %q: %w", cfg.Name, err)
	}
	p.region.ReadMetrics(func(report func(*events.Metric, float64, ...string)) { p.figures.report(cfg.Name, report) })
	_, err = node.RunSingleton(ddata.SingletonConfig{Name: "daemon/" + cfg.Name, Role: cfg.Role, Run: p.coordinate})
	if err != nil {
		return nil, fmt.Errorf("daemon %q: %w", cfg.Name, err)
	}
	return p, nil
}

// coordinate is the singleton.
func (p *Process) coordinate(ctx context.Context, token ddata.FencingToken) error {
	changed := make(chan struct{}, 1)
	following, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for range p.data.Watch(following, p.keys.wish.Name()) { // its last error is the end
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	c := &coordinator{cfg: p.cfg, store: &record{p, token, changed}, workers: p, figures: &p.figures}
	err := c.loop(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// State is the present revision, as a majority knows it. ok is false before the first was written.
func (p *Process) State(ctx context.Context) (s State, ok bool, err error) {
	return p.read(ctx, ddata.ReadMajority)
}

func (p *Process) read(ctx context.Context, level ddata.ReadLevel) (State, bool, error) {
	r, err := ddata.Get(ctx, p.data, p.keys.state, level)
	if err != nil {
		return State{}, false, err
	}
	s, ok := r.Get()
	return s, ok, nil
}

// Rescale changes the number of workers, and returns when those of the revision before have stopped
// and the new ones are being started. The workers of the two revisions never run at one time. If
// the number is what it is already, nothing is stopped.
//
// Errors: ErrConfig, ErrSuperseded, ErrRescaling, and those of ddata.Update.
func (p *Process) Rescale(ctx context.Context, count int) error {
	if count < 1 || count > p.cfg.WorkersMax {
		return fmt.Errorf("%w %q: rescale to %d, want 1 to WorkersMax %d",
			ErrConfig, p.cfg.Name, count, p.cfg.WorkersMax)
	}
	w := wish{ID: rand.Uint64()>>1 + 1, Count: count}
	err := ddata.Update(ctx, p.data, p.keys.wish, ddata.WriteMajority,
		func(tx *crdt.LWWRegisterTx[wish]) error { return tx.Put(w) })
	if err != nil {
		return fmt.Errorf("daemon %q: %w", p.cfg.Name, err)
	}
	tick := time.NewTicker(p.cfg.RequestTimeout / 50)
	defer tick.Stop()
	for {
		if done, err := p.granted(ctx, w); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-p.node.Done():
			return p.node.Err()
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrRescaling, ctx.Err())
		}
	}
}

// granted reports whether a wish has been answered.
func (p *Process) granted(ctx context.Context, w wish) (bool, error) {
	s, _, err := p.read(ctx, ddata.ReadLocal)
	if err != nil {
		return false, err
	}
	if s.Wish == w.ID {
		return s.Completed, nil
	}
	r, err := ddata.Get(ctx, p.data, p.keys.wish, ddata.ReadLocal)
	if err != nil {
		return false, err
	}
	if now, ok := r.Get(); ok && now.ID != w.ID {
		return false, ErrSuperseded
	}
	return false, nil
}

// run implements workers.
func (p *Process) run(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.RequestTimeout)
	defer cancel()
	return p.region.Tell(ctx, id, Run{})
}

// halt implements workers.
func (p *Process) halt(ctx context.Context, id string) error {
	_, err := sharding.Ask(ctx, p.region.Ref(id), Halt{})
	return err
}

// empty implements workers. The number of a worker is its shard.
func (p *Process) empty(ctx context.Context, numbers []int) error {
	shards := make([]sharding.ShardID, len(numbers))
	for i, n := range numbers {
		shards[i] = sharding.ShardID(n)
	}
	return p.region.StopShards(ctx, shards...)
}

var _ workers = (*Process)(nil)
