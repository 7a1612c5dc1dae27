package protocol

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// DecodeMessage decodes one message. What it returns shares no memory with b.
func DecodeMessage(b []byte) (Message, error) {
	if len(b) < 3 {
		return nil, fmt.Errorf("%w: %d bytes", ErrDecode, len(b))
	}
	if b[0] != wireVersion {
		return nil, fmt.Errorf("%w: version %d, this node speaks %d", ErrDecode, b[0], wireVersion)
	}
	d := decoder{b: b[2:]}
	m := d.message(kind(b[1]))
	if d.err != nil {
		return nil, fmt.Errorf("%w: kind %d: %w", ErrDecode, b[1], d.err)
	}
	return m, nil
}

var (
	errUnknownKind = errors.New("unknown kind")
	errShape       = errors.New("list of the wrong length")
	errRange       = errors.New("number out of range")
)

// decoder reads one message; after the first error everything it returns is zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

func (d *decoder) into(v any) {
	if err := decMode.Unmarshal(d.b, v); err != nil {
		d.fail(err)
	}
}

func (d *decoder) message(k kind) Message {
	if f, ok := listForms[k]; ok {
		return f.message(d, d.list())
	}
	switch k {
	case kindRegister:
		return d.register()
	case kindRefused:
		return d.refused()
	case kindLeaveRequest:
		var w wireLeave
		d.into(&w)
		return LeaveRequest{Left: w.Left, Closing: w.Closing, Life: w.Life}
	case kindLeaveReply:
		var w wireLeaveReply
		d.into(&w)
		return LeaveReply{Done: w.Done, Alone: w.Alone, Life: w.Life, Floor: d.tokenOf(w.Floor)}
	case kindGetHomes:
		var w wireFlagged
		d.into(&w)
		return GetHomes{Region: w.Flag, Shards: d.shards(w.List)}
	case kindHomes:
		var w wireFlagged
		d.into(&w)
		return Homes{Sure: w.Flag, Entries: records(d, w.List, 5, BatchMax, d.entry)}
	case kindReport:
		return d.report()
	case kindRegistered:
		var w wireRegistered
		d.into(&w)
		ts := records(d, w.Tokens, 3, 2, d.token)
		if len(ts) != 2 {
			d.fail(errShape)
			return nil
		}
		return Registered{Floor: ts[0], Since: ts[1], Life: w.Life, Moves: records(d, w.Moves, 5, MovesMax, d.move)}
	case kindBegin:
		var w wireTwo
		d.into(&w)
		return Begin{
			Moves:   records(d, w.First, 5, BatchMax, d.move),
			Regions: records(d, w.Last, 1, RegionsMax, func(w words) UID { return UID(w[0]) }),
		}
	case kindFence:
		return d.fence()
	case kindLoads:
		return d.loads()
	case kindInquire:
		return d.inquire()
	case kindAbsentReport:
		return AbsentReport{Floor: d.tokenOf(d.list())}
	case kindAbsent:
		d.list()
		return Absent{}
	case kindCompare:
		d.list()
		return Compare{}
	case kindCompared:
		return d.compared()
	case kindConfirm:
		return d.confirm()
	}
	d.fail(errUnknownKind)
	return nil
}

func (d *decoder) register() Message {
	var w wireRegister
	d.into(&w)
	return Register{Proxy: w.Proxy, Leaving: w.Leaving, Joined: w.Joined, Life: w.Life, Compatibility: d.compatibility(w.Compatibility)}
}

func (d *decoder) compared() Message {
	var w wireCompared
	d.into(&w)
	if !roleOK(w.Role) {
		d.fail(errRange)
	}
	return Compared{Runs: w.Runs, Role: w.Role, Joined: w.Joined, Coordinator: UID(w.Coordinator)}
}

func (d *decoder) inquire() Message {
	var w wireInquire
	d.into(&w)
	if !roleOK(w.Role) {
		d.fail(errRange)
	}
	return Inquire{Floor: d.tokenOf(w.Floor), Role: w.Role}
}

func (d *decoder) confirm() Message {
	w := d.list()
	if len(w) != 1 || w[0] > math.MaxUint32 {
		d.fail(errShape)
		return nil
	}
	return Confirm{Life: uint32(w[0])}
}

func (d *decoder) list() words {
	var w wireList
	d.into(&w)
	return w.List
}

func (d *decoder) fence() Message {
	f := d.shardTokens(d.list())
	if len(f) != 1 {
		d.fail(errShape)
		return nil
	}
	return Fence{Shard: f[0].Shard, HandOff: f[0].Token}
}

func (d *decoder) refused() Message {
	var w wireRefused
	d.into(&w)
	return Refused{Compatibility: d.compatibility(w.Compatibility)}
}

func (d *decoder) compatibility(w wireCompatibility) Compatibility {
	if !roleOK(w.Role) || !storeOK(w.Lease) || !storeOK(w.CoordinatorLease) {
		d.fail(errRange)
	}
	return Compatibility{Role: w.Role, Shards: w.Shards, Hash: Hash(w.Hash), Remember: w.Remember, Lease: w.Lease, CoordinatorLease: w.CoordinatorLease}
}

func (d *decoder) report() Message {
	var w wireReport
	d.into(&w)
	if w.Parts == 0 || w.Parts > ShardsMax/BatchMax || w.Part >= w.Parts {
		d.fail(errRange)
	}
	return Report{
		Floor: d.tokenOf(w.Floor), Proxy: w.Proxy, Leaving: w.Leaving, Left: w.Left, Life: w.Life, Part: w.Part, Parts: w.Parts, Compatibility: d.compatibility(w.Compatibility),
		Shards: records(d, w.Shards, 8, BatchMax, d.hosted),
	}
}

// loadPeriodMax bounds the time that was measured, and handlerTimeMax what was spent in it: as much
// as workers can.
const (
	LoadPeriodMax  = time.Hour
	handlerTimeMax = 1 << 20 * LoadPeriodMax
)

func (d *decoder) loads() Message {
	var w wireLoads
	d.into(&w)
	if w.Period == 0 || w.Period > uint64(LoadPeriodMax/time.Millisecond) {
		d.fail(errRange)
	}
	return Loads{Period: time.Duration(w.Period) * time.Millisecond, Shards: records(d, w.Shards, 4, BatchMax, d.load)}
}

func (d *decoder) load(w words) ShardLoad {
	if w[2] > uint64(handlerTimeMax/time.Microsecond) || w[3] > math.MaxUint32 {
		d.fail(errRange)
	}
	return ShardLoad{Shard: d.shard(w[0]), Messages: w[1], HandlerTime: time.Duration(w[2]) * time.Microsecond, Entities: uint32(w[3])}
}

// records cuts a flat list into records of n words.
func records[T any](d *decoder, w words, n, most int, make1 func(words) T) []T {
	if len(w)%n != 0 || len(w)/n > most {
		d.fail(errShape)
	}
	if d.err != nil || len(w) == 0 {
		return nil
	}
	out := make([]T, 0, len(w)/n)
	for ; len(w) > 0; w = w[n:] {
		out = append(out, make1(w[:n]))
	}
	return out
}

func (d *decoder) shardTokens(w words) []ShardToken {
	return records(d, w, 4, MovesMax, func(w words) ShardToken { return ShardToken{Shard: d.shard(w[0]), Token: d.token(w[1:])} })
}

func (d *decoder) shards(w words) []ShardID {
	return records(d, w, 1, BatchMax, func(w words) ShardID { return d.shard(w[0]) })
}

func (d *decoder) shard(w uint64) ShardID {
	if w >= ShardsMax {
		d.fail(errRange)
	}
	return ShardID(w)
}

func (d *decoder) token(w words) Token {
	if w[1] > UpMax || w[2] > SeqMax {
		d.fail(errRange)
	}
	return Token{Epoch: w[0], Up: uint32(w[1]), Seq: w[2]}
}

func (d *decoder) tokenOf(w words) Token {
	if len(w) != 3 {
		d.fail(errShape)
		return Token{}
	}
	return d.token(w)
}

func (d *decoder) move(w words) Move {
	return Move{Shard: d.shard(w[0]), HandOff: d.token(w[1:]), Owner: UID(w[4])}
}

func (d *decoder) entry(w words) Entry {
	return Entry{Shard: d.shard(w[0]), Home: UID(w[1]), Token: d.token(w[2:])}
}

func (d *decoder) hosted(w words) Hosted {
	if w[1] > uint64(PhaseStopped) {
		d.fail(errRange)
	}
	return Hosted{Shard: d.shard(w[0]), Phase: Phase(w[1]), Token: d.token(w[2:]), Barrier: d.token(w[5:])}
}
