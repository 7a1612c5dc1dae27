package packets_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/packets"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/wire/wiretest"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A packet is described by its message, with the entity and the keys. Bytes that are none are counted.
func TestDescribe(t *testing.T) {
	describe := packets.Describer(2, func(i int) string { return fmt.Sprint("T", i) })
	tell := codec.AppendMessageHead(nil, &codec.Message{Kind: codec.Tell, Shard: 3}, "x1")
	event := func(seq uint64, key string) crdt.Event {
		return crdt.Event{Dot: crdt.Dot{Origin: 1, Seq: seq}, Key: key, Path: "p", Puts: true}
	}
	push := &wire.Push{Epoch: 1, Groups: []crdt.Group{{event(1, "a"), event(2, "b")}, {event(3, "a")}}}
	channel := dataplane.ChannelOf("T1")
	reply := codec.AppendErrorReply(nil, 7, codec.StatusStopped, "x")
	for want, pk := range map[string]network.Packet{ // order: each by itself
		"/ [] fetch":                     {To: network.ToMember, Payload: message.Append(nil, message.Fetch{})},
		"/ [a b] " + push.String():       {To: network.ToReplica, Payload: wire.Append(nil, push)},
		"T1/x1 [] tell T1/x1 of shard 3": {To: network.ToShard, Channel: channel, Payload: append(tell, 0)},
		"T1/ [] reply T1 to call 7":      {To: network.ToShard, Channel: channel, Payload: reply},
		"T1/ [] frame of 1 bytes":        {To: network.ToShard, Channel: channel, Payload: []byte{99}},
		"/ [] 1 bytes":                   {To: network.ToMember, Payload: []byte{0xff}},
		"control":                        {To: network.ToShard, Channel: channel, Payload: control()},
	} {
		r := describe(&pk)
		got := fmt.Sprintf("%s/%s %v %s", r.Type, r.ID, r.Keys, r.Text)
		if got != want && (want != "control" || !strings.HasPrefix(got, "T1/ [] control T1: protocol.GetHomes ")) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func control() []byte {
	return dataplane.AppendQuestion(nil, protocol.GetHomes{Shards: []protocol.ShardID{1}})
}

// Keys are those of what was asked for, and of what messages carry.
func TestKeys(t *testing.T) {
	for _, in := range []replicator.Input{
		replicator.Update{Key: "k"}, replicator.Delete{Key: "k"}, replicator.DeleteForever{Key: "k"},
		replicator.Get{Key: "k"}, replicator.Subscribe{Key: "k"},
		&replicator.Receive{Msg: &wire.Compare{Keys: []string{"k"}}},
	} {
		if got := packets.Keys(in); !slices.Equal(got, []string{"k"}) {
			t.Errorf("%v has the keys %q", in, got)
		}
	}
	if got := packets.Keys(replicator.Tick{}); got != nil {
		t.Errorf("%q", got)
	}
	for _, m := range wiretest.Samples() {
		packets.Keys(&replicator.Receive{Msg: m})
	}
}
