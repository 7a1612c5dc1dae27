package diskless

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// What a journal has of a coordinator, as a stranger reads it: the types are not those of package
// ledger.
type (
	term struct {
		_     struct{} `cbor:",toarray"`
		Era   uint64
		Epoch uint64
		Up    uint32
		Seq   uint64
	}
	home struct {
		_     struct{} `cbor:",toarray"`
		Shard uint32
		UID   uint64
		Epoch uint64
		Up    uint32
		Seq   uint64
	}
	placed struct {
		By    term
		Homes []home
	}
	registered struct {
		By             term
		Added, Removed []uint64
	}
)

var events = schema.CBOR(schema.Type[any]("placed", placed{}), schema.Type[any]("registered", registered{}))

func (t term) compare(o term) int {
	return cmp.Or(cmp.Compare(t.Era, o.Era), cmp.Compare(t.Epoch, o.Epoch), cmp.Compare(t.Up, o.Up),
		cmp.Compare(t.Seq, o.Seq))
}

func (t term) token() protocol.Term {
	return protocol.Term{Era: view.Era(t.Era), Epoch: view.Epoch(t.Epoch), Up: t.Up, Seq: t.Seq}
}

// truth follows the events of the coordinators.
type truth struct {
	store  *postgres.Store
	offset persistence.Offset
	latest term            // of all events
	terms  int             // how many there were
	homes  map[uint32]home // those of the latest era
}

// follow reads the events that are new. No event has a term below that of one before.
func (tr *truth) follow(ctx context.Context) error {
	q := persistence.Query{Type: ledger.TypeName(typeName), After: tr.offset}
	for e, err := range tr.store.Events(ctx, q) {
		if err != nil {
			return err
		}
		tr.offset = e.Offset
		v, err := events.Decode(schema.Stored{Name: e.Event.Name, Version: e.Event.Version, Body: e.Event.Body})
		if err != nil {
			return err
		}
		switch v := v.(type) {
		case placed:
			err = tr.enter(v.By)
			for _, h := range v.Homes {
				tr.homes[h.Shard] = h
			}
		case registered:
			err = tr.enter(v.By)
		}
		if err != nil {
			return fmt.Errorf("event %d of %s: %w", e.Event.Seq, e.Entity, err)
		}
	}
	return nil
}

func (tr *truth) enter(by term) error {
	switch c := by.compare(tr.latest); {
	case c < 0:
		return fmt.Errorf("the term %+v has written after %+v", by, tr.latest)
	case c > 0:
		if by.Era != tr.latest.Era {
			tr.homes = map[uint32]home{}
		}
		tr.latest = by
		tr.terms++
	}
	return nil
}

// demandDeposed writes as the coordinator of a term would, and wants to be refused.
func (tr *truth) demandDeposed(ctx context.Context, t *testing.T, by term) {
	t.Helper()
	l, err := ledger.New(ledger.Config{Type: typeName, Journal: tr.store, Snapshots: tr.store})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Write(ctx, protocol.StateWrite{
		Kind: protocol.StateHomes, By: by.token(), Homes: []protocol.Entry{{Shard: 1, Home: 7, Token: protocol.Token{
			Epoch: by.Epoch, Up: by.Up, Seq: 1 << 40,
		}}},
	})
	if !errors.Is(err, protocol.ErrDeposed) {
		t.Errorf("a write of the term %+v, after %+v: %v", by, tr.latest, err)
	}
}
