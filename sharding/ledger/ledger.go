package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/history"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Ledger keeps the homes and the regions of one entity type. Its methods may be called concurrently,
// and several nodes of one process may share it.
type Ledger struct {
	cfg     history.Config
	typ     string // of the entities
	homes   any    // a *history.History[*homes], see homesOf
	regions any    // a *history.History[*regions], see regionsOf
}

// homesOf returns the history of the homes. As generic types that would be compiled for each user of a Ledger, the
// histories are not to be seen.
func homesOf(l *Ledger) *history.History[*homes] { return l.homes.(*history.History[*homes]) }

// regionsOf returns that of the regions.
func regionsOf(l *Ledger) *history.History[*regions] { return l.regions.(*history.History[*regions]) }

// New returns the ledger of one entity type. It does not touch the journal.
//
// Errors: ErrConfig.
func New(cfg Config) (*Ledger, error) {
	if err := cfg.faults().Wrap(ErrConfig); err != nil {
		return nil, err
	}
	return newLedger(cfg.histories(), cfg.Type), nil
}

func newLedger(cfg history.Config, entityType string) *Ledger {
	l := &Ledger{cfg: cfg, typ: entityType}
	l.homes = history.New(&l.cfg, &homesForm, "homes")
	l.regions = history.New(&l.cfg, &regionsForm, "regions")
	return l
}

// On is the same ledger, for calls that run on a scheduler.
func (l *Ledger) On(s scheduler.Scheduler) *Ledger {
	cfg := l.cfg
	cfg.Scheduler = s
	return newLedger(cfg, l.typ)
}

// EntityType is the name of the entity type.
func (l *Ledger) EntityType() string { return l.typ }

// errKind is a mistake of the caller's.
var errKind = errors.New("ledger: it keeps homes and regions only")

// Keeps reports whether a Ledger keeps a piece of the state.
func Keeps(k protocol.StateKind) bool { return k == protocol.StateHomes || k == protocol.StateRegions }

// Read fences the journal for a term, and reads a piece of the state.
//
// Errors: those of the journal; protocol.ErrDeposed if a later term has begun.
func (l *Ledger) Read(ctx context.Context, r protocol.StateRead) protocol.DidRead {
	in := protocol.DidRead{ID: r.ID}
	in.Err = explained(l.read(ctx, r, &in))
	return in
}

func (l *Ledger) read(ctx context.Context, r protocol.StateRead, in *protocol.DidRead) error {
	by := l.hosting(r.By)
	if err := l.fence(ctx, by); err != nil {
		return err
	}
	switch r.Kind {
	case protocol.StateHomes:
		h, err := homesOf(l).Load(ctx, by)
		if err != nil {
			return err
		}
		in.Homes = entriesOf(h.in(r.By.Era))
	case protocol.StateRegions:
		g, err := regionsOf(l).Load(ctx, by)
		if err != nil {
			return err
		}
		in.Regions = uidsOf(g.in(r.By.Era))
	default:
		return fmt.Errorf("%w: %v", errKind, r.Kind)
	}
	return nil
}

// fence begins a term in both stores. If they are one, the second call changes nothing.
func (l *Ledger) fence(ctx context.Context, by persistence.Hosting) error {
	if err := l.cfg.Journal.Fence(ctx, by); err != nil {
		return err
	}
	if l.cfg.Snapshots == nil {
		return nil
	}
	return l.cfg.Snapshots.Fence(ctx, by)
}

// Write appends a change. It may be repeated. If it returns a function, that makes a snapshot and
// deletes what this replaces. It is for the caller to run after it has gone on.
//
// Errors: those of the journal; protocol.ErrDeposed if a later term has begun.
func (l *Ledger) Write(ctx context.Context, w protocol.StateWrite) (cut func(context.Context), err error) {
	by := l.hosting(w.By)
	t := history.StoredTokenOf(w.By)
	due := false
	switch w.Kind {
	case protocol.StateHomes:
		due, err = homesOf(l).Change(ctx, by, placed{t, storedHomes(w.Homes)})
		cut = func(ctx context.Context) { homesOf(l).Cut(ctx, by) }
	case protocol.StateRegions:
		due, err = regionsOf(l).Change(ctx, by, registered{t, numbers(w.AddRegions), numbers(w.RemoveRegions)})
		cut = func(ctx context.Context) { regionsOf(l).Cut(ctx, by) }
	default:
		err = fmt.Errorf("%w: %v", errKind, w.Kind)
	}
	if !due {
		cut = nil
	}
	return cut, explained(err)
}

func (l *Ledger) hosting(t protocol.Term) persistence.Hosting {
	return persistence.Hosting{Type: TypeName(l.typ), Token: t}
}

// explained says of a refused call what it means for a coordinator, and of a damaged history what
// helps.
func explained(err error) error {
	switch {
	case errors.Is(err, persistence.ErrFenced):
		return fmt.Errorf("%w: %w", protocol.ErrDeposed, err)
	case errors.Is(err, persistence.ErrDamaged):
		return fmt.Errorf("%w; remove the homes with all nodes stopped "+
			"(ledger.Remove, coterie-postgres remove -keep-ids): the shards get new ones", err)
	}
	return err
}
