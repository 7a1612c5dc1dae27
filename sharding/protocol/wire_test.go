package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	library "github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/proptest/golden"
)

func drawToken(t *rapid.T) Token {
	return Token{
		Epoch: rapid.Uint64().Draw(t, "epoch"), Up: rapid.Uint32Max(UpMax).Draw(t, "up"),
		Seq: rapid.Uint64Max(SeqMax).Draw(t, "seq"),
	}
}

func drawShard(t *rapid.T) ShardID { return ShardID(rapid.Uint32Max(ShardsMax-1).Draw(t, "shard")) }
func drawUID(t *rapid.T) UID       { return UID(rapid.Uint64().Draw(t, "uid")) }

func drawList[T any](t *rapid.T, one func(*rapid.T) T) []T {
	var out []T
	for range rapid.IntRange(0, 5).Draw(t, "n") {
		out = append(out, one(t))
	}
	return out
}

func drawShardToken(t *rapid.T) ShardToken {
	return ShardToken{Shard: drawShard(t), Token: drawToken(t)}
}
func drawMove(t *rapid.T) Move {
	return Move{Shard: drawShard(t), HandOff: drawToken(t), Owner: drawUID(t)}
}
func drawEntry(t *rapid.T) Entry {
	return Entry{Shard: drawShard(t), Home: drawUID(t), Token: drawToken(t)}
}
func drawHosted(t *rapid.T) Hosted {
	return Hosted{
		Shard: drawShard(t), Token: drawToken(t),
		Phase: Phase(rapid.Uint8Max(uint8(PhaseStopped)).Draw(t, "phase")), Barrier: drawToken(t),
	}
}

func drawLoad(t *rapid.T) ShardLoad {
	return ShardLoad{
		Shard: drawShard(t), Messages: rapid.Uint64().Draw(t, "messages"), Entities: rapid.Uint32().Draw(t, "entities"),
		HandlerTime: time.Duration(rapid.Uint32().Draw(t, "time")) * time.Microsecond,
	}
}

func drawCompatibility(t *rapid.T) Compatibility {
	id := func(label string) string { return rapid.StringN(0, -1, StoreMax).Draw(t, label) }
	a := Compatibility{
		Role: id("role"), Shards: rapid.Uint32().Draw(t, "shards"), ShardOf: id("shard function"),
		Remember: rapid.Bool().Draw(t, "remember"), Ledger: rapid.Bool().Draw(t, "ledger"),
		Reminders: rapid.Bool().Draw(t, "reminders"), ReminderStore: StoreID(id("store of reminders")),
		RememberStore: StoreID(id("store of ids")),
		Lease:         StoreID(id("lease")), CoordinatorLease: StoreID(id("coordinator lease")),
	}
	if rapid.Bool().Draw(t, "told") {
		a.Strategy = rapid.StringN(1, -1, strategyNameMax).Draw(t, "strategy")
		a.Changing = rapid.Bool().Draw(t, "changing")
		a.StateStore = StoreID(id("store of states"))
	}
	return a
}

// told is what is told from format.Headers on.
var told = Compatibility{
	Role: "r", Shards: 100, ShardOf: "xxhash", Strategy: "allocation.LeastShard", Changing: true,
	StateStore: "postgres 1",
}

func drawMessage(t *rapid.T) Message {
	yes := func(s string) bool { return rapid.Bool().Draw(t, s) }
	life := func() uint32 { return rapid.Uint32().Draw(t, "life") }
	switch kind(rapid.Uint8Range(1, uint8(kindEnd)-1).Draw(t, "kind")) {
	case kindRegister:
		return Register{
			Proxy: yes("proxy"), Leaving: yes("leaving"), Joined: yes("joined"), Life: life(),
			Compatibility: drawCompatibility(t),
		}
	case kindRefused:
		return Refused{Compatibility: drawCompatibility(t)}
	case kindGetHomes:
		return GetHomes{Region: yes("region"), Shards: drawList(t, drawShard)}
	case kindStarted:
		return Started{Shards: drawList(t, drawShardToken)}
	case kindBeginAck:
		return BeginAck{Shards: drawList(t, drawShardToken)}
	case kindShardsStopped:
		return ShardsStopped{Shards: drawList(t, drawShardToken)}
	case kindStopShards:
		return StopShards{Shards: drawList(t, drawShard)}
	case kindAtRest:
		return AtRest{Shards: drawList(t, drawShard)}
	case kindUnable:
		return Unable{Shards: drawList(t, drawShard)}
	case kindEnded:
		return Ended{Shards: drawList(t, drawShard)}
	case kindReport:
		parts := rapid.Uint32Range(1, 256).Draw(t, "parts")
		return Report{
			Floor: drawToken(t), Proxy: yes("proxy"), Leaving: yes("leaving"), Left: yes("left"), Life: life(),
			Answer: rapid.Uint32().Draw(t, "answer"), Part: rapid.Uint32Max(parts-1).Draw(t, "part"), Parts: parts,
			Compatibility: drawCompatibility(t), Shards: drawList(t, drawHosted),
		}
	case kindLeaveRequest:
		return LeaveRequest{Left: yes("left"), Closing: yes("closing"), Life: life()}
	case kindRegistered:
		return Registered{Floor: drawToken(t), Since: drawToken(t), Life: life(), Moves: drawList(t, drawMove)}
	case kindHomes:
		return Homes{Sure: yes("sure"), Entries: drawList(t, drawEntry)}
	case kindHostShards:
		return HostShards{Shards: drawList(t, drawShardToken)}
	case kindBegin:
		return Begin{Moves: drawList(t, drawMove), Regions: drawList(t, drawUID)}
	case kindFence:
		return Fence{Shard: drawShard(t), HandOff: drawToken(t)}
	case kindInquire:
		return Inquire{Floor: drawToken(t), Role: rapid.StringN(0, -1, roleMax).Draw(t, "role")}
	case kindAbsentReport:
		return AbsentReport{Floor: drawToken(t)}
	case kindAbsent:
		return Absent{}
	case kindCompare:
		return Compare{}
	case kindCompared:
		return Compared{
			Runs: yes("runs"), Role: rapid.StringN(0, -1, roleMax).Draw(t, "role"), Joined: yes("joined"),
			Coordinator: drawUID(t),
		}
	case kindStateFailing:
		return StateFailing{Why: rapid.StringN(0, -1, whyMax).Draw(t, "why")}
	case kindConfirm:
		return Confirm{Life: life()}
	case kindLoads:
		period := time.Duration(rapid.IntRange(1, int(LoadPeriodMax/time.Millisecond)).Draw(t,
			"period")) * time.Millisecond
		return Loads{Period: period, Shards: drawList(t, drawLoad)}
	default:
		return LeaveReply{Done: yes("done"), Alone: yes("alone"), Life: life(), Floor: drawToken(t)}
	}
}

func TestWireRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMessage(t)
		b := AppendMessage([]byte("before"), m)
		got, err := DecodeMessage(b[len("before"):])
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("%v came back as %v, %v", m, got, err)
		}
		if got.String() == "" || got.ToCoordinator() != m.ToCoordinator() {
			t.Fatalf("%v does not print", m)
		}
	})
}

func TestWireRefuses(t *testing.T) {
	array := func(k kind, v any) []byte {
		b, err := library.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{wireVersion, byte(k)}, b...)
	}
	many := make([]uint64, BatchMax+1)
	for name, b := range map[string][]byte{
		"empty":       {},
		"version":     append([]byte{9}, AppendMessage(nil, Register{})[1:]...),
		"kind 0":      array(0, []bool{true, false, true}),
		"kind beyond": array(kindEnd, []bool{true, false, true}),
		"short":       AppendMessage(nil, Fence{Shard: 1, HandOff: Token{1, 1, 1}})[:7],
		"long role": AppendMessage(nil, Refused{
			Compatibility: Compatibility{Role: strings.Repeat("a", roleMax+1)},
		}),
		"long store": AppendMessage(nil, Refused{
			Compatibility: Compatibility{Lease: StoreID(strings.Repeat("a", StoreMax+1))},
		}),
		"long strategy": AppendMessage(nil, Refused{
			Compatibility: Compatibility{Strategy: strings.Repeat("a", strategyNameMax+1)},
		}),
		"no strategy": array(kindRefused, []any{
			[]any{"", 1, "", false, "", "", "", false, false, "", "", false, ""},
		}),
		"more alike": array(kindRefused, []any{
			[]any{"", 1, "", false, "", "", "", false, false, "", "a", false},
		}),
		"trailing":       append(AppendMessage(nil, Register{}), 0),
		"wrong type":     array(kindRegister, []string{"a", "b", "c"}),
		"too few fields": array(kindReport, []any{[]uint64{1, 1, 1}}),
		"half a record":  array(kindStarted, []any{[]uint64{1, 2, 3}}),
		"shard beyond":   array(kindStarted, []any{[]uint64{ShardsMax, 1, 1, 1}}),
		"up beyond":      array(kindStarted, []any{[]uint64{1, 1, UpMax + 1, 1}}),
		"seq beyond":     array(kindInquire, []any{[]uint64{1, 1, SeqMax + 1}, ""}),
		"phase beyond": array(kindReport, []any{
			[]uint64{1, 1, 1}, false, false, false, 0, 0, 1, []any{"", 1, 0, false, "", ""},
			[]uint64{1, 9, 1, 1, 1, 1, 1, 1},
		}),
		"no part": array(kindReport, []any{
			[]uint64{1, 1, 1}, false, false, false, 0, 1, 1, []any{"", 1, 0, false, "", ""}, []uint64{},
		}),
		"parts beyond": array(kindReport, []any{
			[]uint64{1, 1, 1}, false, false, false, 0, 1, 1 << 20, []any{"", 1, 0, false, "", ""}, []uint64{},
		}),
		"no period":        array(kindLoads, []any{0, []uint64{1, 1, 1, 1}}),
		"period beyond":    array(kindLoads, []any{3_600_001, []uint64{1, 1, 1, 1}}),
		"time beyond":      array(kindLoads, []any{1000, []uint64{1, 1, 1 << 60, 1}}),
		"entities beyond":  array(kindLoads, []any{1000, []uint64{1, 1, 1, 1 << 33}}),
		"two fences":       array(kindFence, []any{[]uint64{1, 1, 1, 1, 2, 1, 1, 1}}),
		"too many shards":  array(kindGetHomes, []any{false, many}),
		"indefinite array": {wireVersion, byte(kindRegister), 0x9f, 0xf4, 0xf4, 0xf4, 0xff},
		"huge array head":  {wireVersion, byte(kindInquire), 0x82, 0x9b, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		if m, err := DecodeMessage(b); !errors.Is(err, ErrDecode) {
			t.Errorf("%s: decoded to %v, %v", name, m, err)
		}
	}
}

func sampleMessages() []Message {
	tok := Token{Epoch: 7, Up: 2, Seq: 9}
	return []Message{
		Register{Proxy: true, Compatibility: Compatibility{Shards: 100, ShardOf: "murmur2", Remember: true, Lease: "a",
			CoordinatorLease: "b", RememberStore: "c", Reminders: true, ReminderStore: "d"}},
		Refused{Compatibility: Compatibility{Shards: 100}},
		GetHomes{Shards: []ShardID{1, 2}}, Started{Shards: []ShardToken{{3, tok}}}, LeaveReply{Done: true},
		Report{Floor: tok, Parts: 1, Shards: []Hosted{{Shard: 1, Token: tok, Phase: PhaseFencing, Barrier: tok}}},
		Registered{Floor: tok, Since: tok, Moves: []Move{{1, tok, 5}}},
		Homes{Entries: []Entry{{1, 5, tok}}}, Inquire{Floor: tok},
		Begin{Moves: []Move{{1, tok, 5}}, Regions: []UID{1, 2, 1 << 60}}, Fence{Shard: 1, HandOff: tok}, LeaveRequest{},
		StopShards{Shards: []ShardID{1, 2}}, AtRest{Shards: []ShardID{3}}, Ended{Shards: []ShardID{4, 5}},
		Unable{Shards: []ShardID{6}},
		Loads{Period: time.Second, Shards: []ShardLoad{{1, 1000, time.Second, 10}}},
		StateFailing{Why: "the disk is full"},
	}
}

// tellingMessages have what is told from format.Headers on.
func tellingMessages() []Message {
	return []Message{
		Register{Life: 2, Compatibility: told}, Refused{Compatibility: Compatibility{Strategy: "own"}},
		Report{Life: 2, Parts: 1, Compatibility: told},
	}
}

// The bytes are a promise to peers of other versions.
func TestGoldenMessages(t *testing.T) {
	tok := Token{Epoch: 1 << 40, Up: UpMax, Seq: SeqMax}
	var samples []golden.Sample
	for _, m := range append(sampleMessages(),
		Register{Leaving: true, Joined: true, Life: 300, Compatibility: Compatibility{Role: "r\u00e9"}},
		GetHomes{Region: true},
		BeginAck{Shards: []ShardToken{{300, tok}, {ShardsMax - 1, tok}}}, ShardsStopped{},
		HostShards{Shards: []ShardToken{{3, tok}}},
		Report{Proxy: true, Leaving: true, Left: true, Life: 1 << 31, Answer: 5, Part: 2, Parts: 3},
		Homes{Sure: true},
		Inquire{Floor: tok, Role: "back"}, Absent{}, AbsentReport{Floor: tok}, Confirm{Life: 70_000}, Compare{},
		Compared{Runs: true, Role: "back", Joined: true, Coordinator: 1 << 63},
		LeaveRequest{Left: true, Closing: true, Life: 24},
		LeaveReply{Alone: true, Life: 9, Floor: tok}, Loads{Period: LoadPeriodMax}, Refused{
			Compatibility{Lease: StoreID(strings.Repeat("l", StoreMax))},
		},
	) {
		samples = append(samples, golden.Sample{
			Name: fmt.Sprintf("%T", m), Bytes: AppendMessage(nil, m), Read: golden.Reads(DecodeMessage), Want: m,
		})
	}
	for _, m := range tellingMessages() {
		samples = append(samples, golden.Sample{
			Name: fmt.Sprintf("%T", m), Level: format.Headers, Bytes: AppendMessage(nil, m),
			Read: golden.Reads(DecodeMessage), Want: m,
		})
	}
	var known []kind
	for k := kind(1); k < kindEnd; k++ {
		known = append(known, k)
	}
	golden.Kinds(t, known, samples, func(b []byte) kind { return kind(b[1]) })
	golden.Formats(t, samples)
}

// The text of an error travels as far as there is room, and in UTF-8.
func TestLongErrors(t *testing.T) {
	long := strings.Repeat("ä", whyMax)[1:] + "\xff"
	for _, why := range []string{"\xff" + long, long} {
		m, err := DecodeMessage(AppendMessage(nil, StateFailing{Why: why}))
		got, _ := m.(StateFailing)
		if want := strings.Repeat("ä", whyMax/2-1); err != nil || got.Why != want {
			t.Errorf("%d bytes came back as %d, %v", len(why), len(got.Why), err)
		}
	}
}

// Broken or hostile bytes cost no more than their own size.
func TestDecodingIsFrugal(t *testing.T) {
	var seeds [][]byte
	for _, m := range append(sampleMessages(), tellingMessages()...) {
		seeds = append(seeds, AppendMessage(nil, m))
	}
	proptest.Frugal(t, 100, func(b []byte) { _, _ = DecodeMessage(b) }, seeds...)
}

func FuzzDecodeMessage(f *testing.F) {
	for _, m := range append(sampleMessages(), tellingMessages()...) {
		f.Add(AppendMessage(nil, m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMessage(b)
		if err != nil {
			return
		}
		_ = m.String()
		again := AppendMessage(nil, m)
		m2, err := DecodeMessage(again)
		if err != nil || !bytes.Equal(AppendMessage(nil, m2), again) {
			t.Fatalf("%v does not survive: %v", m, err)
		}
	})
}
