package replicated

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// Store keeps the state of entities in the replicated data of a role. Its methods may be called
// concurrently. It ends with its node.
type Store struct {
	r       *ddata.Replicator
	planted planted

	mu     sync.Mutex
	shards map[string]*shard // by key
}

var (
	_ persistence.Journal = (*Store)(nil)
	_ persistence.Reader  = (*Store)(nil)
)

// planted are mistakes that tests make on purpose.
type planted struct {
	noLook    bool // a transaction is taken for settled without a look at the intents
	noRows    bool // a new seat forgets what the top has written
	allCount  bool // nothing asks of which seat an item is
	unlisted  bool // a shard is not listed among those of its type
	openReads bool // a reader takes what it finds for settled
	noNumbers bool // a reader's place says nothing of the seat
	keepsVoid bool // what does not count stays
	guesses   bool // what has no row any more is taken for what never counted
	gone      bool // no mistake: the process ends when it has said that it wants a seat

	forgets bool // a sweep drops the row of a seat of which something is alive

	reach atomic.Pointer[func(step string)] // no mistake: it is called when a call has come to a step; nil: it is not
}

// reached tells a test how far a call has come.
func (p *planted) reached(step string) {
	if reach := p.reach.Load(); reach != nil {
		(*reach)(step)
	}
}

// stores are those of a node, by role.
type stores struct {
	mu     sync.Mutex
	byRole map[string]*Store
}

// Open returns the store of a role on a node: the same one for each call. The node must have the
// role, else it is ddata.ErrUnknownRole. What is stored survives a stop of all nodes if they have a
// directory; without one it lives in their memories.
func Open(n *ddata.Node, role string) (*Store, error) {
	r, err := n.Replicator(role)
	if err != nil {
		return nil, err
	}
	of := host.Attach(n.Host(), func() *stores { return &stores{byRole: map[string]*Store{}} })
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.byRole[role] == nil {
		of.byRole[role] = &Store{r: r, shards: map[string]*shard{}}
	}
	return of.byRole[role], nil
}

// ID names the role, whose members have the data together.
func (s *Store) ID() string { return "replicated " + s.r.Role() }

// shard is what a store knows of a shard beside its items.
type shard struct {
	s    *Store
	key  string
	rows knownRows
	turn chan struct{} // of size 1: one goroutine takes a seat at a time

	mu   sync.Mutex
	seat head // of this process; last is that of the last transaction that is settled
}

func (s *Store) shard(key string) *shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.shards[key]
	if sh == nil {
		sh = &shard{s: s, key: key, turn: make(chan struct{}, 1)}
		s.shards[key] = sh
	}
	return sh
}

// read reads the shard.
func (sh *shard) read(ctx context.Context, level ddata.ReadLevel) (view, error) {
	r, err := sh.s.r.Get(ctx, sh.key, level)
	if err != nil {
		return view{}, err
	}
	return sh.viewOf(r)
}

func (sh *shard) viewOf(r crdt.Reader) (view, error) {
	v, err := viewOf(r, &sh.rows)
	v.allCount = sh.s.planted.allCount
	return v, err
}

// write changes the shard. fn sees the state before, until it returns.
func (sh *shard) write(ctx context.Context, level ddata.WriteLevel, fn func(v view, tx *crdt.Tx) error) error {
	return sh.s.r.Update(ctx, sh.key, level, sh.mutation(fn))
}

// writeThenLook changes the shard at a majority, and looks back: a read of another process that does
// not see the change began early enough for its intent to be in the view. look may use the view until
// it returns; its error is another result than err.
func (sh *shard) writeThenLook(
	ctx context.Context, fn func(v view, tx *crdt.Tx) error, look func(v view) error,
) (looked, err error) {
	err = sh.s.r.UpdateThenLook(ctx, sh.key, sh.mutation(fn), func(r crdt.Reader) error {
		v, err := sh.viewOf(r)
		if err == nil {
			looked = look(v)
		}
		return err
	})
	return looked, err
}

func (sh *shard) mutation(fn func(v view, tx *crdt.Tx) error) func(*crdt.Tx) error {
	return func(tx *crdt.Tx) error {
		v, err := sh.viewOf(tx.Before())
		if err != nil {
			return err
		}
		return fn(v, tx)
	}
}

// sits returns the seat of this process, with its last settled transaction.
func (sh *shard) sits() head {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.seat
}

// has reports whether this process has the seat of a hosting, as far as a view knows.
func (sh *shard) has(v view, h persistence.Hosting) bool {
	now := sh.sits()
	return now.last != 0 && now.token == h.Token && !v.taken() && v.top.compare(now.seat) == 0
}

// settle notes that a transaction of this process is settled.
func (sh *shard) settle(h head) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch c := h.compare(sh.seat.seat); {
	case c > 0:
		sh.seat = h
	case c == 0:
		sh.seat.last = max(sh.seat.last, h.last)
	}
}

// check returns ErrFenced if a hosting is over.
func check(v view, h persistence.Hosting) error {
	if now := v.highest(); h.Token.Less(now) {
		return fmt.Errorf("%w: shard %v of %q, %v after %v", persistence.ErrFenced, h.Shard, h.Type, now, h.Token)
	}
	return nil
}
