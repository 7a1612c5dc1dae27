package replicated

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The mistakes that tests plant.
var (
	NoLook    = func(s *Store) { s.planted.noLook = true }
	NoRows    = func(s *Store) { s.planted.noRows = true }
	AllCount  = func(s *Store) { s.planted.allCount = true }
	Unlisted  = func(s *Store) { s.planted.unlisted = true }
	OpenReads = func(s *Store) { s.planted.openReads = true }
	NoNumbers = func(s *Store) { s.planted.noNumbers = true }
	KeepsVoid = func(s *Store) { s.planted.keepsVoid = true }
	Forgets   = func(s *Store) { s.planted.forgets = true }
	Guesses   = func(s *Store) { s.planted.guesses = true }
)

// Gone has the process of a store end when it has said that it wants a seat: ErrGone.
func Gone(s *Store) { s.planted.gone = true }

// ErrGone is what the calls of a process that is gone end with.
var ErrGone = errGone

// Reach has fn called once, when a call of a store has come to a step.
func Reach(s *Store, step string, fn func()) {
	var once sync.Once
	reach := func(at string) {
		if at == step {
			once.Do(fn)
		}
	}
	s.planted.reach.Store(&reach)
}

// Damage has an event of the first shard be one that does not decode. This process has the seat.
func (s *Store) Damage(typ string, id protocol.EntityID, seq uint64) error {
	h := persistence.Hosting{Type: typ}
	sh, path := s.shard(keyOf(h)), numbered(entityPath(id), eventSub, seq)
	h.Token = sh.sits().token
	return sh.transact(context.Background(), h, ddata.WriteMajority,
		func(v view, tx *crdt.Tx) (changed bool, err error) {
			return true, tx.Put(path, "spoilt", dots(v.r.At(path)))
		})
}

// Wanted reports whether a seat of a shard is wanted and not open, as far as this node knows.
func (s *Store) Wanted(t testing.TB, h persistence.Hosting) bool {
	t.Helper()
	v, err := s.shard(keyOf(h)).read(context.Background(), ddata.ReadLocal)
	if err != nil {
		t.Fatal(err)
	}
	return v.taken()
}

// HasSeat reports whether this node knows the seat of a hosting as the top of its shard.
func (s *Store) HasSeat(t testing.TB, h persistence.Hosting) bool {
	t.Helper()
	v, err := s.shard(keyOf(h)).read(context.Background(), ddata.ReadLocal)
	if err != nil {
		t.Fatal(err)
	}
	return v.top.token == h.Token
}

// HasBody reports whether this node holds something of an entity with a body, whether it counts or not.
func (s *Store) HasBody(t testing.TB, h persistence.Hosting, id protocol.EntityID, body string) bool {
	t.Helper()
	r, err := s.r.Get(context.Background(), keyOf(h), ddata.ReadLocal)
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.Items(entityPath(id)) {
		if c, err := decode(r, it); err == nil && string(c.body) == body {
			return true
		}
	}
	return false
}

// Items returns how many items this node holds of a shard.
func (s *Store) Items(t testing.TB, h persistence.Hosting) int {
	t.Helper()
	r, err := s.r.Get(context.Background(), keyOf(h), ddata.ReadLocal)
	if err != nil {
		t.Fatal(err)
	}
	return r.Len()
}

// Holds reports how many items of an entity's events this node holds, whether they count or not.
func (s *Store) Holds(t testing.TB, h persistence.Hosting, id protocol.EntityID) (items int) {
	t.Helper()
	r, err := s.r.Get(context.Background(), keyOf(h), ddata.ReadLocal)
	if err != nil {
		t.Fatal(err)
	}
	for it := range r.Items(entityPath(id)) {
		if strings.HasPrefix(it.Path[len(entityPath(id)):], eventSub) {
			items++
		}
	}
	return items
}

// Rows returns how many seats this node knows of which something may count.
func (s *Store) Rows(t testing.TB, h persistence.Hosting) int {
	t.Helper()
	v, err := s.shard(keyOf(h)).read(context.Background(), ddata.ReadLocal)
	if err != nil {
		t.Fatal(err)
	}
	return len(v.rows.all)
}
