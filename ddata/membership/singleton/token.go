package singleton

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// FencingToken is a token for an outside store. The store keeps with each row the highest token by
// which it was written, and refuses a write with a lower one: then nothing that outlives its lease
// can overwrite what came after it. Tokens are compared by Era, then Epoch, then Up, then Seq. The
// zero token is below all others.
//
// Within one cluster no clock takes part in the order: Era is the same in all tokens, and a restart
// on the directories goes on with the epochs. When all directories are lost, or there were none,
// the next cluster begins with epoch 1 again, and its tokens are higher because its Era is. That is
// not guaranteed where the wall clock of the founder is behind that of the former founding: then
// the Era is no higher, and the store refuses the new cluster's writes. The remedy is to found
// again when the clock is right, or to take the kept tokens out of the store.
type FencingToken struct {
	Era   view.Era   // of the cluster
	Epoch view.Epoch // of the view in which it was decided
	Up    uint32     // up number of the member that decided it
	Seq   uint64     // counts what that member decided
}

// TokenSize is the length of what FencingToken.Bytes returns.
const TokenSize = 28

// Compare returns -1 when t is below o, 1 when it is above o, and 0 when they are equal.
func (t FencingToken) Compare(o FencingToken) int {
	return cmp.Or(cmp.Compare(t.Era, o.Era), cmp.Compare(t.Epoch, o.Epoch), cmp.Compare(t.Up, o.Up),
		cmp.Compare(t.Seq, o.Seq))
}

// Less reports whether t is below o.
func (t FencingToken) Less(o FencingToken) bool { return t.Compare(o) < 0 }

// IsZero reports whether t is the zero Token.
func (t FencingToken) IsZero() bool { return t == FencingToken{} }

// Bytes returns the token for stores that compare bytes: TokenSize bytes, big-endian, Era first.
// The order of bytes.Compare, and that of the bytes in hexadecimal, is the order of Compare. The
// slice is the caller's.
func (t FencingToken) Bytes() []byte {
	b := make([]byte, 0, TokenSize)
	b = binary.BigEndian.AppendUint64(b, uint64(t.Era))
	b = binary.BigEndian.AppendUint64(b, uint64(t.Epoch))
	b = binary.BigEndian.AppendUint32(b, t.Up)
	return binary.BigEndian.AppendUint64(b, t.Seq)
}

// String prints era.epoch.up.seq. It is for people: strings do not sort as tokens do.
func (t FencingToken) String() string {
	if t.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d.%d.%d.%d", uint64(t.Era), uint64(t.Epoch), t.Up, t.Seq)
}
