package replicator

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Input is what Step takes: one of the structs of this file.
type Input interface {
	fmt.Stringer
	input()
}

// Update changes one key by Mutate and answers when Write is reached. ID names the operation in its
// Result and must be unused. Mutate runs inside Step, once; an error or a panic in it means that
// nothing happened. With ThenGet, which is for Majority, the Result has a Reader if the acks have
// told enough (read.Lookback). It sees what any linearizable read saw that does not see this update,
// and all that a majority had acknowledged before. It is valid until the next Step.
type Update struct {
	ID      uint64
	Key     string
	Mutate  func(*crdt.Tx) error
	Write   quorum.Level
	ThenGet bool
	Timeout time.Duration // 0: Config.OperationTimeout
}

// Delete removes everything observed under the key: what another replica adds at the same time
// survives, and the key can be used again.
type Delete struct {
	ID      uint64
	Key     string
	Write   quorum.Level
	Timeout time.Duration // 0: Config.OperationTimeout
}

// DeleteForever removes everything observed under the key, and nothing can live there again. What
// another replica adds at the same time is hidden where it meets the deletion. From then on, reads
// and updates of the key return crdt.ErrDeleted. One item stays permanently. Deleting such a key
// again is no error: the operation waits until the deletion is as well known as its level asks.
type DeleteForever struct {
	ID      uint64
	Key     string
	Write   quorum.Level
	Timeout time.Duration // 0: Config.OperationTimeout
}

// Get reads one key at the level Read. The Result carries a Reader, an empty one when the key holds
// nothing.
type Get struct {
	ID      uint64
	Key     string
	Read    quorum.Level
	Timeout time.Duration // 0: Config.OperationTimeout
}

// Cancel ends operations that wait, with ErrCancelled. An update that is held back does not happen;
// every other write has happened, and spreads. IDs that name none, or one that has been answered,
// are ignored.
type Cancel struct{ IDs []uint64 }

// Subscribe asks for the current value of a key, or of every key with a prefix, if there is one,
// and for every change of it. Exactly one of Key and Prefix counts: Prefix when All is set. A used
// ID replaces the older subscription.
type Subscribe struct {
	ID     uint64
	Key    string
	Prefix string
	All    bool // subscribe to Prefix, which may be empty for every key
}

// Unsubscribe ends a subscription; unknown ids are ignored.
type Unsubscribe struct{ ID uint64 }

// Receive hands over what a peer sent; a nil Msg is one that could not be decoded. The machine
// keeps parts of Msg, so the caller must not modify it afterwards. It keeps no Receive: a driver uses
// one again.
type Receive struct {
	From crdt.Origin
	Msg  wire.Message
}

// Decoded hands over a message that has come in parts (effect.Whole), as Receive does others.
type Decoded struct {
	From crdt.Origin
	Flow uint64
	Msg  wire.Message
}

// Persisted reports the end of the Batch with this ID. An error means that nothing of it was
// written.
type Persisted struct {
	ID  uint64
	Err error
}

// Install hands over the next view, once each, in the order of epochs. Gaps are allowed.
type Install struct{ View replica.View }

// Reachable tells what the failure detector thinks. It only orders which peers to ask and when to
// push; it changes no quorum.
type Reachable struct {
	Origin crdt.Origin
	Is     bool
}

// Tick is for a deadline that has come.
type Tick struct{}

func (Update) input()        {}
func (Delete) input()        {}
func (DeleteForever) input() {}
func (Get) input()           {}
func (Subscribe) input()     {}
func (Unsubscribe) input()   {}
func (Cancel) input()        {}
func (*Receive) input()      {}
func (Decoded) input()       {}
func (Persisted) input()     {}
func (Install) input()       {}
func (Reachable) input()     {}
func (Tick) input()          {}

func (i Update) String() string {
	return fmt.Sprintf("update #%d %q %v%s", i.ID, i.Key, i.Write, wire.Flags("then get", i.ThenGet))
}
func (i Delete) String() string { return fmt.Sprintf("delete #%d %q %v", i.ID, i.Key, i.Write) }
func (i DeleteForever) String() string {
	return fmt.Sprintf("delete forever #%d %q %v", i.ID, i.Key, i.Write)
}
func (i Get) String() string         { return fmt.Sprintf("get #%d %q %v", i.ID, i.Key, i.Read) }
func (i Unsubscribe) String() string { return fmt.Sprintf("unsubscribe #%d", i.ID) }
func (i Cancel) String() string      { return fmt.Sprintf("cancel %d", i.IDs) }
func (i *Receive) String() string {
	return fmt.Sprintf("receive from %s: %v", wire.Short(i.From), i.Msg)
}
func (i Decoded) String() string {
	return fmt.Sprintf("decoded flow %d from %s: %v", i.Flow, wire.Short(i.From), i.Msg)
}
func (i Install) String() string { return "install " + i.View.String() }
func (Tick) String() string      { return "tick" }

func (i Subscribe) String() string {
	if i.All {
		return fmt.Sprintf("subscribe #%d %q*", i.ID, i.Prefix)
	}
	return fmt.Sprintf("subscribe #%d %q", i.ID, i.Key)
}

func (i Persisted) String() string {
	if i.Err != nil {
		return fmt.Sprintf("persisted #%d: %v", i.ID, i.Err)
	}
	return fmt.Sprintf("persisted #%d", i.ID)
}

func (i Reachable) String() string {
	if i.Is {
		return "reachable " + wire.Short(i.Origin)
	}
	return "unreachable " + wire.Short(i.Origin)
}
