package history

import (
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// StoredToken is a fencing token as events and snapshots have it.
type StoredToken struct {
	_     struct{} `cbor:",toarray"`
	Era   uint64
	Epoch uint64
	Up    uint32
	Seq   uint64
}

// StoredTokenOf returns what stands for a token.
func StoredTokenOf(t singleton.FencingToken) StoredToken {
	return StoredToken{Era: uint64(t.Era), Epoch: uint64(t.Epoch), Up: t.Up, Seq: t.Seq}
}

// Fence returns the token that it stands for.
func (t StoredToken) Fence() singleton.FencingToken {
	return singleton.FencingToken{Era: view.Era(t.Era), Epoch: view.Epoch(t.Epoch), Up: t.Up, Seq: t.Seq}
}
