package protocol

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// The wire form of a message:
//
//	byte 0   version of the protocol, 1
//	byte 1   kind
//	rest     one CBOR array, core-deterministic, of that kind's fields
//
//	Register      [proxy, leaving, joined, life, alike]      GetHomes      [region, [shard…]]
//	Started, BeginAck, ShardsStopped, HostShards             [[shard, epoch, up, seq, …]]
//	Report        [[epoch, up, seq], proxy, leaving, left, life, answer, part, parts, alike, [shard, phase, epoch, up, seq, epoch, up, seq, …]]
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
//	Compared      [runs, role, joined, coordinator]          StateFailing  [why]
//
// What must be alike is [role, shards, hash, remember, remember-store, lease, coordinator-lease, ledger,
// reminders, reminder-store], the role as text of at most roleMax bytes, the stores of at most
// StoreMax. From format.Headers on it ends with [… strategy, changing, state-store], the strategy not empty.
// Lists are flat, so that decoding costs no more than the bytes.
const wireVersion = 1

// ErrDecode: the bytes are no message of this protocol.
var ErrDecode = errors.New("sharding/protocol: malformed message")

// fields is how many elements the array of each kind has.
var fields = [kindEnd]int{
	kindRegister: 5, kindGetHomes: 2, kindStarted: 1, kindBeginAck: 1, kindShardsStopped: 1, kindReport: 10,
	kindLoads: 2, kindLeaveRequest: 3,
	kindLeaveReply: 4, kindRegistered: 3, kindRefused: 1, kindHomes: 2, kindHostShards: 1, kindBegin: 2,
	kindStopShards: 1, kindAtRest: 1,
	kindEnded: 1, kindUnable: 1, kindFence: 1, kindInquire: 2, kindAbsent: 1, kindAbsentReport: 1, kindConfirm: 1,
	kindCompare: 1, kindCompared: 4, kindStateFailing: 1,
}

// How many values must be alike, at format.Initial and now.
const (
	alikeInitial = 10
	alike        = 13
)

// AppendMessage appends the encoded message to dst.
func AppendMessage(dst []byte, m Message) []byte {
	k := m.message()
	dst = cbor.AppendArray(append(dst, wireVersion, byte(k)), fields[k])
	switch m := m.(type) {
	case Register:
		dst = cbor.AppendBools(dst, m.Proxy, m.Leaving, m.Joined)
		return appendCompatibility(cbor.AppendUint(dst, m.Life), m.Compatibility)
	case Refused:
		return appendCompatibility(dst, m.Compatibility)
	case GetHomes:
		return shardList.append(cbor.AppendBool(dst, m.Region), m.Shards...)
	case Report:
		dst = cbor.AppendBools(tokenList.append(dst, m.Floor), m.Proxy, m.Leaving, m.Left)
		dst = cbor.AppendUints(dst, uint64(m.Life), uint64(m.Answer), uint64(m.Part), uint64(m.Parts))
		return hostedList.append(appendCompatibility(dst, m.Compatibility), m.Shards...)
	case Loads:
		return loadList.append(cbor.AppendUint(dst, uint64(m.Period/time.Millisecond)), m.Shards...)
	case LeaveRequest:
		return cbor.AppendUint(cbor.AppendBools(dst, m.Left, m.Closing), m.Life)
	case LeaveReply:
		return tokenList.append(cbor.AppendUint(cbor.AppendBools(dst, m.Done, m.Alone), m.Life), m.Floor)
	case Registered:
		dst = cbor.AppendUint(tokenList.append(dst, m.Floor, m.Since), m.Life)
		return moveList.append(dst, m.Moves...)
	case Homes:
		return entryList.append(cbor.AppendBool(dst, m.Sure), m.Entries...)
	case Begin:
		return uidList.append(moveList.append(dst, m.Moves...), m.Regions...)
	case Fence:
		return shardTokenList.append(dst, ShardToken{Shard: m.Shard, Token: m.HandOff})
	case Inquire:
		return cbor.AppendText(tokenList.append(dst, m.Floor), m.Role)
	case AbsentReport:
		return tokenList.append(dst, m.Floor)
	case Absent, Compare:
		return cbor.AppendArray(dst, 0)
	case Compared:
		dst = cbor.AppendText(cbor.AppendBool(dst, m.Runs), m.Role)
		return cbor.AppendUint(cbor.AppendBool(dst, m.Joined), m.Coordinator)
	case StateFailing:
		return cbor.AppendText(dst, whyText(m.Why))
	case Confirm:
		return cbor.AppendUint(cbor.AppendArray(dst, 1), m.Life)
	}
	return appendShards(dst, m)
}

// whyMax bounds the text of a StateFailing, in bytes.
const whyMax = 1024

// whyText is as much of an error's text as travels, in UTF-8.
func whyText(why string) string {
	if len(why) > whyMax {
		why = why[:whyMax]
	}
	return strings.ToValidUTF8(why, "")
}

// appendShards appends the messages that are a list of shards and nothing else.
func appendShards(dst []byte, m Message) []byte {
	switch m := m.(type) {
	case StopShards:
		return shardList.append(dst, m.Shards...)
	case AtRest:
		return shardList.append(dst, m.Shards...)
	case Ended:
		return shardList.append(dst, m.Shards...)
	case Unable:
		return shardList.append(dst, m.Shards...)
	case Started:
		return shardTokenList.append(dst, m.Shards...)
	case BeginAck:
		return shardTokenList.append(dst, m.Shards...)
	case ShardsStopped:
		return shardTokenList.append(dst, m.Shards...)
	case HostShards:
		return shardTokenList.append(dst, m.Shards...)
	}
	panic(fmt.Sprintf("sharding/protocol: no wire form of %T", m))
}

func appendCompatibility(dst []byte, a Compatibility) []byte {
	told := a.Strategy != ""
	n := alikeInitial
	if told {
		n = alike
	}
	dst = cbor.AppendText(cbor.AppendArray(dst, n), a.Role)
	dst = cbor.AppendText(cbor.AppendUint(dst, uint64(a.Shards)), a.ShardOf)
	dst = cbor.AppendText(cbor.AppendBool(dst, a.Remember), string(a.RememberStore))
	dst = cbor.AppendText(dst, string(a.Lease))
	dst = cbor.AppendBool(cbor.AppendText(dst, string(a.CoordinatorLease)), a.Ledger)
	dst = cbor.AppendText(cbor.AppendBool(dst, a.Reminders), string(a.ReminderStore))
	if told {
		dst = cbor.AppendText(cbor.AppendBool(cbor.AppendText(dst, a.Strategy), a.Changing), string(a.StateStore))
	}
	return dst
}
