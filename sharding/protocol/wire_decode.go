package protocol

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// DecodeMessage decodes one message. What it returns shares no memory with b.
func DecodeMessage(b []byte) (Message, error) {
	if len(b) < 3 {
		return nil, fmt.Errorf("%w: %d bytes", ErrDecode, len(b))
	}
	if b[0] != wireVersion {
		return nil, fmt.Errorf("%w: version %d, this node speaks %d", ErrDecode, b[0], wireVersion)
	}
	k := kind(b[1])
	if k == 0 || k >= kindEnd {
		return nil, fmt.Errorf("%w: unknown kind %d", ErrDecode, k)
	}
	r := cbor.NewReader(b[2:])
	r.Tuple(fields[k])
	m := readMessage(r, k)
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("%w: kind %d: %w", ErrDecode, k, err)
	}
	return m, nil
}

func readMessage(r *cbor.Reader, k kind) Message {
	switch k {
	case kindRegister:
		return Register{
			Proxy: r.Bool(), Leaving: r.Bool(), Joined: r.Bool(), Life: r.Uint32(), Compatibility: readCompatibility(r),
		}
	case kindRefused:
		return Refused{Compatibility: readCompatibility(r)}
	case kindLeaveRequest:
		return LeaveRequest{Left: r.Bool(), Closing: r.Bool(), Life: r.Uint32()}
	case kindLeaveReply:
		return LeaveReply{Done: r.Bool(), Alone: r.Bool(), Life: r.Uint32(), Floor: tokenList.readOne(r)}
	case kindGetHomes:
		return GetHomes{Region: r.Bool(), Shards: shardList.read(r, BatchMax)}
	case kindHomes:
		return Homes{Sure: r.Bool(), Entries: entryList.read(r, BatchMax)}
	case kindReport:
		return readReport(r)
	case kindRegistered:
		return readRegistered(r)
	case kindBegin:
		return Begin{Moves: moveList.read(r, BatchMax), Regions: uidList.read(r, RegionsMax)}
	case kindFence:
		f := shardTokenList.readOne(r)
		return Fence{Shard: f.Shard, HandOff: f.Token}
	case kindLoads:
		return readLoads(r)
	case kindInquire:
		return Inquire{Floor: tokenList.readOne(r), Role: r.Text(roleMax)}
	case kindAbsentReport:
		return AbsentReport{Floor: tokenList.readOne(r)}
	case kindAbsent:
		r.Tuple(0)
		return Absent{}
	case kindCompare:
		r.Tuple(0)
		return Compare{}
	case kindCompared:
		return Compared{Runs: r.Bool(), Role: r.Text(roleMax), Joined: r.Bool(), Coordinator: UID(r.Uint())}
	case kindStateFailing:
		return StateFailing{Why: r.Text(whyMax)}
	case kindConfirm:
		r.Tuple(1)
		return Confirm{Life: r.Uint32()}
	}
	return readShards(r, k)
}

// readShards reads the messages that are a list of shards and nothing else.
func readShards(r *cbor.Reader, k kind) Message {
	switch k {
	case kindStopShards:
		return StopShards{shardList.read(r, BatchMax)}
	case kindAtRest:
		return AtRest{shardList.read(r, BatchMax)}
	case kindEnded:
		return Ended{shardList.read(r, BatchMax)}
	case kindUnable:
		return Unable{shardList.read(r, BatchMax)}
	case kindStarted:
		return Started{shardTokenList.read(r, MovesMax)}
	case kindBeginAck:
		return BeginAck{shardTokenList.read(r, MovesMax)}
	case kindShardsStopped:
		return ShardsStopped{shardTokenList.read(r, MovesMax)}
	}
	return HostShards{shardTokenList.read(r, MovesMax)}
}

func readCompatibility(r *cbor.Reader) Compatibility {
	n := r.Array(alike)
	a := Compatibility{
		Role: r.Text(roleMax), Shards: r.Uint32(), ShardOf: r.Text(shardFuncNameMax), Remember: r.Bool(),
		RememberStore:    StoreID(r.Text(StoreMax)),
		Lease:            StoreID(r.Text(StoreMax)),
		CoordinatorLease: StoreID(r.Text(StoreMax)),
		Ledger:           r.Bool(), Reminders: r.Bool(), ReminderStore: StoreID(r.Text(StoreMax)),
	}
	switch n {
	case alikeInitial:
	case alike:
		a.Strategy, a.Changing, a.StateStore = r.Text(strategyNameMax), r.Bool(), StoreID(r.Text(StoreMax))
		if a.Strategy == "" {
			r.Fail("a strategy without a name")
		}
	default:
		r.Fail("%d values that must be alike, want %d or %d", n, alikeInitial, alike)
	}
	return a
}

func readReport(r *cbor.Reader) Report {
	m := Report{
		Floor: tokenList.readOne(r), Proxy: r.Bool(), Leaving: r.Bool(), Left: r.Bool(), Life: r.Uint32(),
		Answer: r.Uint32(), Part: r.Uint32(), Parts: r.Uint32(),
		Compatibility: readCompatibility(r), Shards: hostedList.read(r, BatchMax),
	}
	if m.Parts == 0 || m.Parts > ShardsMax/BatchMax || m.Part >= m.Parts {
		r.Fail("part %d of %d", m.Part, m.Parts)
	}
	return m
}

func readRegistered(r *cbor.Reader) Registered {
	ts := tokenList.read(r, 2)
	if len(ts) != 2 {
		r.Fail("%d tokens, want 2", len(ts))
		return Registered{}
	}
	return Registered{Floor: ts[0], Since: ts[1], Life: r.Uint32(), Moves: moveList.read(r, MovesMax)}
}

func readLoads(r *cbor.Reader) Loads {
	period := r.UintMax(uint64(LoadPeriodMax / time.Millisecond))
	if period == 0 {
		r.Fail("loads of no time")
	}
	return Loads{Period: time.Duration(period) * time.Millisecond, Shards: loadList.read(r, BatchMax)}
}
