package protocol

import (
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// listForm is the form of a flat list of records, of which each is as many numbers as words says.
type listForm[T any] struct {
	words     int
	appendOne func([]byte, T) []byte
	readNext  func(*cbor.Reader) T
}

var (
	shardList      = listForm[ShardID]{1, appendShard, readShard}
	uidList        = listForm[UID]{1, cbor.AppendUint[UID], func(r *cbor.Reader) UID { return UID(r.Uint()) }}
	tokenList      = listForm[Token]{3, appendToken, readToken}
	shardTokenList = listForm[ShardToken]{4, appendShardToken, readShardToken}
	loadList       = listForm[ShardLoad]{4, appendLoad, readLoad}
	moveList       = listForm[Move]{5, appendMove, readMove}
	entryList      = listForm[Entry]{5, appendEntry, readEntry}
	hostedList     = listForm[Hosted]{8, appendHosted, readHosted}
)

// append appends a flat list.
func (f listForm[T]) append(dst []byte, xs ...T) []byte {
	dst = cbor.AppendArray(dst, f.words*len(xs))
	for _, x := range xs {
		dst = f.appendOne(dst, x)
	}
	return dst
}

// read reads a flat list of at most most records. It returns nil for none.
func (f listForm[T]) read(r *cbor.Reader, most int) []T {
	n := r.Array(f.words * most)
	if n%f.words != 0 {
		r.Fail("list of %d words, %d a record", n, f.words)
	}
	if n == 0 || r.Err() != nil {
		return nil
	}
	out := make([]T, 0, n/f.words)
	for range n / f.words {
		if out = append(out, f.readNext(r)); r.Err() != nil {
			return nil
		}
	}
	return out
}

// readOne reads a flat list of one record.
func (f listForm[T]) readOne(r *cbor.Reader) (one T) {
	if all := f.read(r, 1); len(all) == 1 {
		return all[0]
	}
	r.Fail("list without a record")
	return one
}

func appendShard(dst []byte, s ShardID) []byte { return cbor.AppendUint(dst, s) }

func readShard(r *cbor.Reader) ShardID { return ShardID(r.UintMax(ShardsMax - 1)) }

func appendToken(dst []byte, t Token) []byte {
	return cbor.AppendUints(dst, t.Epoch, uint64(t.Up), t.Seq)
}

func readToken(r *cbor.Reader) Token {
	return Token{Epoch: r.Uint(), Up: uint32(r.UintMax(UpMax)), Seq: r.UintMax(SeqMax)}
}

func appendShardToken(dst []byte, s ShardToken) []byte {
	return appendToken(appendShard(dst, s.Shard), s.Token)
}

func readShardToken(r *cbor.Reader) ShardToken {
	return ShardToken{Shard: readShard(r), Token: readToken(r)}
}

func appendMove(dst []byte, m Move) []byte {
	return cbor.AppendUint(appendToken(appendShard(dst, m.Shard), m.HandOff), m.Owner)
}

func readMove(r *cbor.Reader) Move {
	return Move{Shard: readShard(r), HandOff: readToken(r), Owner: UID(r.Uint())}
}

func appendEntry(dst []byte, e Entry) []byte {
	return appendToken(cbor.AppendUint(appendShard(dst, e.Shard), e.Home), e.Token)
}

func readEntry(r *cbor.Reader) Entry {
	return Entry{Shard: readShard(r), Home: UID(r.Uint()), Token: readToken(r)}
}

func appendLoad(dst []byte, l ShardLoad) []byte {
	return cbor.AppendUints(dst, uint64(l.Shard), l.Messages,
		uint64(l.HandlerTime/time.Microsecond), uint64(l.Entities))
}

// LoadPeriodMax bounds the time that was measured, and handlerTimeMax what was spent in it: as much
// as workers can.
const (
	LoadPeriodMax  = time.Hour
	handlerTimeMax = 1 << 20 * LoadPeriodMax
)

func readLoad(r *cbor.Reader) ShardLoad {
	l := ShardLoad{Shard: readShard(r), Messages: r.Uint()}
	l.HandlerTime = time.Duration(r.UintMax(uint64(handlerTimeMax/time.Microsecond))) * time.Microsecond
	l.Entities = r.Uint32()
	return l
}

func appendHosted(dst []byte, h Hosted) []byte {
	dst = cbor.AppendUint(appendShard(dst, h.Shard), h.Phase)
	return appendToken(appendToken(dst, h.Token), h.Barrier)
}

func readHosted(r *cbor.Reader) Hosted {
	return Hosted{
		Shard: readShard(r), Phase: Phase(r.UintMax(uint64(PhaseStopped))), Token: readToken(r), Barrier: readToken(r),
	}
}
