package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// The wire form of a message:
//
//	byte 0   version of the protocol, 1
//	byte 1   kind
//	rest     one CBOR array, core-deterministic, of that kind's fields
//
//	Register      [proxy, leaving, joined, life, alike]      GetHomes      [region, [shard…]]
//	Started, BeginAck, ShardsStopped, HostShards             [[shard, epoch, up, seq, …]]
//	Report        [[epoch, up, seq], proxy, leaving, left, life, part, parts, alike, [shard, phase, epoch, up, seq, epoch, up, seq, …]]
//	Loads         [milliseconds, [shard, messages, microseconds, entities, …]]
//	LeaveRequest  [left, closing, life]                      LeaveReply    [done, alone, life, [epoch, up, seq]]
//	Registered    [[epoch, up, seq, epoch, up, seq], life, [shard, epoch, up, seq, owner, …]]
//	Refused       [alike]
//	Homes         [sure, [shard, home, epoch, up, seq, …]]
//	Begin         [[shard, epoch, up, seq, owner, …], [region…]]
//	StopShards    [[shard…]]                                 AtRest, Ended, Unable [[shard…]]
//	Fence         [[shard, epoch, up, seq]]                  Inquire       [[epoch, up, seq], role]
//	Absent        [[]]                                       AbsentReport  [[epoch, up, seq]]
//	Confirm       [[life]]                                   Compare       [[]]
//	Compared      [runs, role, joined, coordinator]
//
// What must be alike is [role, shards, hash, remember, lease, coordinator-lease], the role as text
// of at most roleMax bytes, the latter two of at most StoreMax. Lists are flat, so that decoding
// costs no more than the bytes.
const wireVersion = 1

// ErrDecode: the bytes are no message of this protocol.
var ErrDecode = errors.New("sharding/protocol: malformed message")

// words is a flat list of records, each of as many words as its kind says.
type words []uint64

type (
	wireLeave struct {
		_             struct{} `cbor:",toarray"`
		Left, Closing bool
		Life          uint32
	}
	wireLeaveReply struct {
		_           struct{} `cbor:",toarray"`
		Done, Alone bool
		Life        uint32
		Floor       words
	}
	wireCompared struct {
		_           struct{} `cbor:",toarray"`
		Runs        bool
		Role        string
		Joined      bool
		Coordinator uint64
	}
	wireInquire struct {
		_     struct{} `cbor:",toarray"`
		Floor words
		Role  string
	}
	wireRegister struct {
		_                      struct{} `cbor:",toarray"`
		Proxy, Leaving, Joined bool
		Life                   uint32
		Compatibility          wireCompatibility
	}
	wireRegistered struct {
		_      struct{} `cbor:",toarray"`
		Tokens words
		Life   uint32
		Moves  words
	}
	wireCompatibility struct {
		_                       struct{} `cbor:",toarray"`
		Role                    string
		Shards                  uint32
		Hash                    uint8
		Remember                bool
		Lease, CoordinatorLease string
	}
	wireRefused struct {
		_             struct{} `cbor:",toarray"`
		Compatibility wireCompatibility
	}
	wireFlagged struct {
		_    struct{} `cbor:",toarray"`
		Flag bool
		List words
	}
	wireList struct {
		_    struct{} `cbor:",toarray"`
		List words
	}
	wireTwo struct {
		_           struct{} `cbor:",toarray"`
		First, Last words
	}
	wireLoads struct {
		_      struct{} `cbor:",toarray"`
		Period uint64
		Shards words
	}
	wireReport struct {
		_             struct{} `cbor:",toarray"`
		Floor         words
		Proxy         bool
		Leaving, Left bool
		Life          uint32
		Part, Parts   uint32
		Compatibility wireCompatibility
		Shards        words
	}
)

var (
	encMode = must(func() (cbor.EncMode, error) {
		o := cbor.CoreDetEncOptions()
		o.NilContainers = cbor.NilContainerAsEmpty
		return o.EncMode()
	}())
	decMode = must(cbor.DecOptions{
		MaxNestedLevels: 4, MaxArrayElements: 5 * MovesMax, MaxMapPairs: 16,
		IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// listForm is how a kind of message travels that is a list of shards and nothing else.
type listForm struct {
	words   func(Message) words
	message func(*decoder, words) Message
}

var listForms = map[kind]listForm{
	kindStopShards:    listFormOf[StopShards](appendShard, (*decoder).shards),
	kindAtRest:        listFormOf[AtRest](appendShard, (*decoder).shards),
	kindEnded:         listFormOf[Ended](appendShard, (*decoder).shards),
	kindUnable:        listFormOf[Unable](appendShard, (*decoder).shards),
	kindStarted:       listFormOf[Started](appendShardToken, (*decoder).shardTokens),
	kindBeginAck:      listFormOf[BeginAck](appendShardToken, (*decoder).shardTokens),
	kindShardsStopped: listFormOf[ShardsStopped](appendShardToken, (*decoder).shardTokens),
	kindHostShards:    listFormOf[HostShards](appendShardToken, (*decoder).shardTokens),
}

type shardsOf[T any] interface {
	Message
	~struct{ Shards []T }
}

func listFormOf[M shardsOf[T], T any](add func(words, T) words, cut func(*decoder, words) []T) listForm {
	return listForm{
		func(m Message) words { return flat(struct{ Shards []T }(m.(M)).Shards, add) },
		func(d *decoder, w words) Message { return M(struct{ Shards []T }{cut(d, w)}) },
	}
}

// AppendMessage appends the encoded message to dst.
func AppendMessage(dst []byte, m Message) []byte {
	dst = append(dst, wireVersion, byte(m.message()))
	b, err := encMode.Marshal(wireOf(m))
	if err != nil {
		panic(fmt.Sprintf("sharding/protocol: encoding %v: %v", m, err)) // only numbers, booleans and checked text
	}
	return append(dst, b...)
}

func wireOf(m Message) any {
	if f, ok := listForms[m.message()]; ok {
		return wireList{List: f.words(m)}
	}
	switch m := m.(type) {
	case Register:
		return wireRegister{Proxy: m.Proxy, Leaving: m.Leaving, Joined: m.Joined, Life: m.Life, Compatibility: wireOfCompatibility(m.Compatibility)}
	case Refused:
		return wireRefused{Compatibility: wireOfCompatibility(m.Compatibility)}
	case GetHomes:
		return wireFlagged{Flag: m.Region, List: flat(m.Shards, appendShard)}
	case Report:
		return wireReport{
			Floor: appendToken(nil, m.Floor), Proxy: m.Proxy, Leaving: m.Leaving, Left: m.Left, Life: m.Life, Part: m.Part, Parts: m.Parts,
			Compatibility: wireOfCompatibility(m.Compatibility), Shards: flat(m.Shards, appendHosted),
		}
	case Loads:
		return wireLoads{Period: uint64(m.Period / time.Millisecond), Shards: flat(m.Shards, appendLoad)}
	case LeaveRequest:
		return wireLeave{Left: m.Left, Closing: m.Closing, Life: m.Life}
	case LeaveReply:
		return wireLeaveReply{Done: m.Done, Alone: m.Alone, Life: m.Life, Floor: appendToken(nil, m.Floor)}
	case Registered:
		return wireRegistered{Tokens: appendToken(appendToken(nil, m.Floor), m.Since), Life: m.Life, Moves: flat(m.Moves, appendMove)}
	case Homes:
		return wireFlagged{Flag: m.Sure, List: flat(m.Entries, appendEntry)}
	case Begin:
		return wireTwo{First: flat(m.Moves, appendMove), Last: flat(m.Regions, func(w words, u UID) words { return append(w, uint64(u)) })}
	case Fence:
		return wireList{List: appendShardToken(nil, ShardToken{Shard: m.Shard, Token: m.HandOff})}
	case Inquire:
		return wireInquire{Floor: appendToken(nil, m.Floor), Role: m.Role}
	case AbsentReport:
		return wireList{List: appendToken(nil, m.Floor)}
	case Absent, Compare:
		return wireList{}
	case Compared:
		return wireCompared{Runs: m.Runs, Role: m.Role, Joined: m.Joined, Coordinator: uint64(m.Coordinator)}
	case Confirm:
		return wireList{List: words{uint64(m.Life)}}
	}
	panic(fmt.Sprintf("sharding/protocol: no wire form of %T", m))
}

func wireOfCompatibility(a Compatibility) wireCompatibility {
	return wireCompatibility{Role: a.Role, Shards: a.Shards, Hash: uint8(a.Hash), Remember: a.Remember, Lease: a.Lease, CoordinatorLease: a.CoordinatorLease}
}

func flat[T any](xs []T, add func(words, T) words) words {
	w := make(words, 0, 5*len(xs))
	for _, x := range xs {
		w = add(w, x)
	}
	return w
}

func appendShard(w words, s ShardID) words { return append(w, uint64(s)) }

func appendToken(w words, t Token) words { return append(w, t.Epoch, uint64(t.Up), t.Seq) }

func appendShardToken(w words, s ShardToken) words {
	return appendToken(append(w, uint64(s.Shard)), s.Token)
}

func appendMove(w words, m Move) words {
	return append(appendToken(append(w, uint64(m.Shard)), m.HandOff), uint64(m.Owner))
}

func appendEntry(w words, e Entry) words {
	return appendToken(append(w, uint64(e.Shard), uint64(e.Home)), e.Token)
}

func appendLoad(w words, l ShardLoad) words {
	return append(w, uint64(l.Shard), l.Messages, uint64(l.HandlerTime/time.Microsecond), uint64(l.Entities))
}

func appendHosted(w words, h Hosted) words {
	return appendToken(appendToken(append(w, uint64(h.Shard), uint64(h.Phase)), h.Token), h.Barrier)
}
