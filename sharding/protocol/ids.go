package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// UID names one incarnation of a node.
type UID = view.UID

// ShardID numbers the shards of a type, from 0.
type ShardID = allocation.ShardID

// EntityID names an entity within its type.
type EntityID string

// String prints the id in quotes.
func (id EntityID) String() string { return strconv.Quote(string(id)) }

// Token orders the commands of all coordinators that a type ever had: by the epoch of the view in
// which the coordinator acted, by its up number, by its own count. A region refuses a command whose
// token is lower than one that it has obeyed. The token of a Begin is also the id of its hand-off.
// The zero Token is below all others. It orders within one cluster; a ddata.FencingToken has the
// cluster in front.
type Token struct {
	Epoch uint64
	Up    uint32 // below 2^24
	Seq   uint64 // below 2^40
}

// Bounds of a Token: Seq is at most SeqMax, Up at most UpMax.
const (
	seqBits = 40
	SeqMax  = 1<<seqBits - 1
	UpMax   = 1<<(64-seqBits) - 1
)

// Compare orders tokens.
func (t Token) Compare(o Token) int {
	if c := cmp.Compare(t.Epoch, o.Epoch); c != 0 {
		return c
	}
	if c := cmp.Compare(t.Up, o.Up); c != 0 {
		return c
	}
	return cmp.Compare(t.Seq, o.Seq)
}

// Less reports whether t is below o.
func (t Token) Less(o Token) bool { return t.Compare(o) < 0 }

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool { return t == Token{} }

// timestamp is the token as the timestamp of a table entry; it keeps the order.
func (t Token) timestamp() crdt.Timestamp {
	high, low := t.Pack()
	return crdt.Timestamp{High: high, Low: low}
}

// tokenOf is the inverse of timestamp.
func tokenOf(ts crdt.Timestamp) Token { return UnpackToken(ts.High, ts.Low) }

// Pack is the token in two numbers.
func (t Token) Pack() (epoch, rest uint64) { return t.Epoch, uint64(t.Up)<<seqBits | t.Seq }

// UnpackToken is the inverse of Pack.
func UnpackToken(epoch, rest uint64) Token {
	return Token{Epoch: epoch, Up: uint32(rest >> seqBits), Seq: rest & SeqMax}
}

// String prints epoch.up.seq.
func (t Token) String() string {
	if t.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d.%d.%d", t.Epoch, t.Up, t.Seq)
}

// Entry is one row of the table of homes: where the shard lives, by which decision.
type Entry struct {
	Shard ShardID
	Home  UID
	Token Token
}

// String prints shard→home@token.
func (e Entry) String() string { return fmt.Sprintf("%v→%v@%v", e.Shard, e.Home, e.Token) }

// Location is where an outside client wants a shard to be.
type Location struct {
	Shard ShardID
	Addr  string
}

// String prints shard→address.
func (l Location) String() string { return fmt.Sprintf("%v→%s", l.Shard, l.Addr) }

// Without removes u from us, in place.
func Without(us []UID, u UID) []UID {
	return slices.DeleteFunc(us, func(x UID) bool { return x == u })
}
