package replicated

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/projection"
)

// Store keeps offsets. Its methods may be called concurrently.
type Store struct{ data *ddata.Replicator }

var _ projection.Offsets = (*Store)(nil)

// Open takes the data of a role that the node has.
//
// Errors: ddata.ErrUnknownRole.
func Open(node *ddata.Node, role string) (*Store, error) {
	data, err := node.Replicator(role)
	if err != nil {
		return nil, fmt.Errorf("replicated: offsets of projections: %w", err)
	}
	return &Store{data}, nil
}

// place is how far a part has come, as it is stored. Its timestamp is the number of the claim, and a
// count of the saves.
type place struct {
	_       struct{} `cbor:",toarray"`
	Offset  string
	At      int64 // microseconds since 1970; never: there is none
	Handled uint64
	Omitted uint64
}

const never = math.MinInt64

func placeOf(p projection.Progress) place {
	out := place{Offset: string(p.Offset), At: never, Handled: p.Handled, Omitted: p.Omitted}
	if !p.At.IsZero() {
		out.At = p.At.UnixMicro()
	}
	return out
}

func (p place) progress() projection.Progress {
	out := projection.Progress{Offset: persistence.Offset(p.Offset), Handled: p.Handled, Omitted: p.Omitted}
	if p.At != never {
		out.At = time.UnixMicro(p.At).UTC()
	}
	return out
}

type (
	number = crdt.LWWRegister[uint64]
	flag   = crdt.LWWRegister[bool]
	places = crdt.LWWRegister[place]
)

// The keys of a projection.
func partsKey(name string) ddata.Key[number] {
	return ddata.NewKey[number]("projection/" + name + "/parts")
}
func pausedKey(name string) ddata.Key[flag] {
	return ddata.NewKey[flag]("projection/" + name + "/paused")
}
func claimKey(c projection.Claim) ddata.Key[number] {
	return ddata.NewKey[number](fmt.Sprintf("projection/%s/claim/%d", c.Projection, c.Part))
}
func placeKey(c projection.Claim) ddata.Key[places] {
	return ddata.NewKey[places](fmt.Sprintf("projection/%s/place/%d", c.Projection, c.Part))
}

// Claim implements projection.Offsets.
func (s *Store) Claim(ctx context.Context, name string, p projection.Part) (
	c projection.Claim, at projection.Progress, err error,
) {
	paused, err := get(ctx, s, pausedKey(name), ddata.ReadMajority)
	if err != nil {
		return c, at, err
	}
	if paused {
		return c, at, projection.ErrPaused
	}
	if err := s.agree(ctx, name, p.Of); err != nil {
		return c, at, err
	}
	c, err = s.number(ctx, projection.Claim{Projection: name, Part: p.Number})
	if err != nil {
		return c, at, err
	}
	found, err := get(ctx, s, placeKey(c), ddata.ReadMajority)
	if err != nil {
		return c, at, err
	}
	if found == (place{}) {
		found.At = never
	}
	if err := s.put(ctx, c, found); err != nil && !errors.Is(err, projection.ErrFenced) {
		return c, at, err // a claim that is fenced already is one whose saves are refused
	}
	return c, found.progress(), nil
}

// get reads a register; the zero value if it has none.
func get[V any](
	ctx context.Context, s *Store, key ddata.Key[crdt.LWWRegister[V]], level ddata.ReadLevel,
) (v V, err error) {
	r, err := ddata.Get(ctx, s.data, key, level)
	if err != nil {
		return v, err
	}
	v, _ = r.Get()
	return v, nil
}

// agree checks the number of parts, which the first claim or reset writes.
func (s *Store) agree(ctx context.Context, name string, parts int) error {
	found, err := get(ctx, s, partsKey(name), ddata.ReadMajority)
	switch {
	case err != nil:
		return err
	case found == 0:
		return ddata.Update(ctx, s.data, partsKey(name), ddata.WriteMajority,
			func(tx *crdt.LWWRegisterTx[uint64]) error { return tx.Put(uint64(parts)) })
	case found != uint64(parts):
		return fmt.Errorf("%w: there are offsets of %d, want %d", projection.ErrParts, found, parts)
	}
	return nil
}

// drawBits are those of a number that are drawn, so that claims at one time have different ones.
const drawBits = 24

// number writes a number above all that a majority has.
func (s *Store) number(ctx context.Context, c projection.Claim) (projection.Claim, error) {
	last, err := get(ctx, s, claimKey(c), ddata.ReadMajority)
	if err != nil {
		return c, err
	}
	c.Number = (last>>drawBits+1)<<drawBits | rand.Uint64N(1<<drawBits)
	return c, s.open(ctx, c)
}

// open writes the number of a claim.
func (s *Store) open(ctx context.Context, c projection.Claim) error {
	return ddata.Update(ctx, s.data, claimKey(c), ddata.WriteMajority, func(tx *crdt.LWWRegisterTx[uint64]) error {
		_, err := tx.PutAt(c.Number, crdt.Timestamp{High: c.Number})
		return err // one that loses is fenced by the winner
	})
}

// put writes a place under the number of a claim, after all that this has written.
func (s *Store) put(ctx context.Context, c projection.Claim, p place) error {
	return ddata.Update(ctx, s.data, placeKey(c), ddata.WriteMajority, func(tx *crdt.LWWRegisterTx[place]) error {
		ts := crdt.Timestamp{High: c.Number}
		if _, at, ok := tx.At(); ok && at.High >= c.Number {
			if at.High > c.Number {
				return projection.ErrFenced
			}
			ts.Low = at.Low + 1
		}
		ok, err := tx.PutAt(p, ts)
		if err == nil && !ok {
			return projection.ErrFenced
		}
		return err
	})
}

// Save implements projection.Offsets.
func (s *Store) Save(ctx context.Context, c projection.Claim, at projection.Progress) error {
	if err := s.check(ctx, c, ddata.ReadLocal); err != nil {
		return err // at once, without a write
	}
	if err := s.meet(ctx, c); err != nil {
		return err
	}
	if err := s.put(ctx, c, placeOf(at)); err != nil {
		return err
	}
	return s.check(ctx, c, ddata.ReadMajority)
}

// meet has this replica know the place that the claim has written, which may have been on another node:
// what is put without it would have the same timestamp.
func (s *Store) meet(ctx context.Context, c projection.Claim) error {
	r, err := ddata.Get(ctx, s.data, placeKey(c), ddata.ReadLocal)
	if err != nil {
		return err
	}
	if _, at, ok := r.At(); ok && at.High >= c.Number {
		return nil
	}
	_, err = ddata.Get(ctx, s.data, placeKey(c), ddata.ReadMajority)
	return err
}

// check returns ErrFenced if there is a later claim.
func (s *Store) check(ctx context.Context, c projection.Claim, level ddata.ReadLevel) error {
	last, err := get(ctx, s, claimKey(c), level)
	if err == nil && last > c.Number {
		return projection.ErrFenced
	}
	return err
}

// Look implements projection.Offsets. It reads what this node has.
func (s *Store) Look(ctx context.Context, name string) (state projection.State, err error) {
	parts, err := get(ctx, s, partsKey(name), ddata.ReadLocal)
	if err != nil {
		return state, err
	}
	if parts > persistence.SliceCount {
		return state, fmt.Errorf("replicated: %d parts of projection %q: %w", parts, name, persistence.ErrDamaged)
	}
	if state.Paused, err = get(ctx, s, pausedKey(name), ddata.ReadLocal); err != nil {
		return state, err
	}
	for n := range int(parts) {
		c := projection.Claim{Projection: name, Part: n}
		var p projection.PartState
		if p.Claim, err = get(ctx, s, claimKey(c), ddata.ReadLocal); err != nil {
			return state, err
		}
		r, err := ddata.Get(ctx, s.data, placeKey(c), ddata.ReadLocal)
		if err != nil {
			return state, err
		}
		if found, ok := r.Get(); ok {
			p.Progress = found.progress()
		}
		state.Parts = append(state.Parts, p)
	}
	return state, nil
}

// Pause implements projection.Offsets.
func (s *Store) Pause(ctx context.Context, name string, paused bool) error {
	return ddata.Update(ctx, s.data, pausedKey(name), ddata.WriteMajority,
		func(tx *crdt.LWWRegisterTx[bool]) error { return tx.Put(paused) })
}

// Reset implements projection.Offsets. Parts are reset side by side.
func (s *Store) Reset(ctx context.Context, name string, parts int, at persistence.Offset) error {
	if err := s.agree(ctx, name, parts); err != nil {
		return err
	}
	errs := make([]error, parts)
	var all sync.WaitGroup
	for n := range parts {
		all.Go(func() {
			c, err := s.number(ctx, projection.Claim{Projection: name, Part: n})
			if err == nil {
				err = s.put(ctx, c, placeOf(projection.Progress{Offset: at}))
			}
			errs[n] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
