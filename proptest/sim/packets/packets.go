package packets

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/persisted"
	"github.com/coterie-go/coterie/proptest/sim/reminded"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Describer returns a function for network.Settings.Describe, which knows the entity types of a world: so many
// with the names that nameOf gives them, and those of packages persisted and reminded.
func Describer(types int, nameOf func(int) string) func(*network.Packet) story.Record {
	names := []string{persisted.Events, persisted.States, reminded.Type}
	for i := range types {
		names = append(names, nameOf(i))
	}
	channels := map[transport.Channel]string{}
	for _, name := range names {
		channels[dataplane.ChannelOf(name)] = name
	}
	return func(pk *network.Packet) story.Record {
		switch pk.To {
		case network.ToMember:
			if m, err := message.Decode(pk.Payload); err == nil {
				return story.Record{Text: m.String()}
			}
		case network.ToReplica:
			if m, err := wire.Decode(pk.Payload); err == nil {
				return story.Record{Keys: keysOf(m), Text: m.String()}
			}
		case network.ToShard:
			return frame(channels[pk.Channel], pk.Payload)
		}
		return story.Record{Text: fmt.Sprintf("%d bytes", len(pk.Payload))}
	}
}

var frameNames = [...]string{
	codec.Tell: "tell", codec.Ask: "ask", codec.Reply: "reply", codec.Control: "control", codec.Post: "post",
	codec.Inspect: "inspect", codec.Farewell: "farewell",
}

// frame describes a frame of a type of entities.
func frame(typ string, payload []byte) story.Record {
	r := story.Record{Type: typ, Text: fmt.Sprintf("frame of %d bytes", len(payload))}
	rd := cbor.NewReader(dataplane.FrameOf(payload))
	kind, fields := codec.OpenFrame(rd)
	if rd.Err() != nil || int(kind) >= len(frameNames) || frameNames[kind] == "" {
		return r
	}
	r.Text = frameNames[kind] + " " + typ
	switch kind {
	case codec.Tell, codec.Ask:
		var m codec.Message
		if m.Read(rd, kind, fields); rd.Err() == nil {
			r.ID = string(m.ID)
			r.Text += fmt.Sprintf("/%s of shard %d", m.ID, m.Shard)
		}
	case codec.Reply:
		r.Text += fmt.Sprintf(" to call %d", rd.Uint())
	case codec.Control:
		if m, err := protocol.DecodeMessage(rd.Bytes(cbor.Any)); err == nil {
			r.Text += fmt.Sprintf(": %T %v", m, m)
		}
	}
	return r
}

// Keys are those that an input of a replicator is about.
func Keys(in replicator.Input) []string {
	switch in := in.(type) {
	case replicator.Update:
		return []string{in.Key}
	case replicator.Delete:
		return []string{in.Key}
	case replicator.DeleteForever:
		return []string{in.Key}
	case replicator.Get:
		return []string{in.Key}
	case replicator.Subscribe:
		return []string{in.Key}
	case *replicator.Receive:
		return keysOf(in.Msg)
	case replicator.Decoded:
		return keysOf(in.Msg)
	}
	return nil
}

// keysOf are those that a message between replicators is about, each once.
func keysOf(m wire.Message) (keys []string) {
	switch m := m.(type) {
	case *wire.Push:
		for _, g := range m.Groups {
			for _, e := range g {
				if !slices.Contains(keys, e.Key) && len(keys) < story.KeysMax {
					keys = append(keys, e.Key)
				}
			}
		}
	case *wire.Compare:
		return slices.Clone(m.Keys)
	}
	return keys
}

// LaneOf maps the Replicator's lanes to those of the network. Its prompt messages may go either
// way: order there is a matter of speed.
func LaneOf(l effect.Lane, promptLossy bool) network.Lane {
	switch {
	case l == effect.Bulk:
		return network.Bulk
	case promptLossy:
		return network.Control
	}
	return network.Data
}
