package dataplane

import (
	"context"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Address is the id of an entity with the way to it.
type Address struct {
	ID     string
	Number uint32                          // of its shard
	found  atomic.Pointer[entities.Entity] // where it was last
}

// AddressTo readies an address. An invalid id is reported by its use.
func (r *Plane) AddressTo(a *Address, id string) { a.ID, a.Number = id, r.Routes.ShardOf(id) }

// SendTo is Send to an address that is kept.
func (r *Plane) SendTo(ctx context.Context, a *Address, env mailbox.Envelope) error {
	if err := ctx.Err(); err != nil {
		return r.explain(a.Number, err)
	}
	if _, err := r.Registry.Of(env.Message()); err != nil {
		return err
	}
	if rt := r.Routes.Slots[a.Number].Load(); rt != nil && rt.Local != nil && a.deliver(rt.Local, env) {
		return nil
	}
	if err := CheckID(a.ID); err != nil {
		return err
	}
	return r.sendSlow(ctx, a.Number, a.ID, env)
}

// deliver puts an envelope into the mailbox of the entity if s has it, and it has room. The id of an
// entity is valid.
func (a *Address) deliver(s *entities.Shard, env mailbox.Envelope) bool {
	if e := a.found.Load(); e != nil && e.Shard == s && e.Accept(env, 0) == mailbox.Accepted {
		return true
	}
	e := s.Peek(a.ID)
	if e == nil || codec.Administrative(env.Msg) || e.Accept(env, 0) != mailbox.Accepted {
		return false
	}
	a.found.Store(e)
	return true
}

// idMax is how many bytes an id has.
const idMax = 512

// CheckID accepts 1 to 512 bytes of UTF-8.
func CheckID(id string) error {
	if id == "" {
		return fmt.Errorf("%w: it is empty", failure.ErrInvalidID)
	}
	if len(id) > idMax {
		return fmt.Errorf("%w: it has %d bytes, the limit is %d", failure.ErrInvalidID, len(id), idMax)
	}
	if !utf8.ValidString(id) {
		return fmt.Errorf("%w: %q is not UTF-8", failure.ErrInvalidID, id)
	}
	return nil
}

// isID reports whether bytes of a frame are an id that CheckID accepts.
func isID(id []byte) bool { return len(id) > 0 && len(id) <= idMax && utf8.Valid(id) }
