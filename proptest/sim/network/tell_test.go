package network_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// told is what a watcher of a world has heard: kind, node, peer, message, text.
func told(log *story.Log) (all []string) {
	for _, r := range log.Records() {
		all = append(all, fmt.Sprint(r.Kind, " ", r.Node, ">", r.Peer, " #", r.Message, " ", r.Text))
	}
	return all
}

// TestWatched: what is sent, repeated and lost is told with the number that its records share.
func TestWatched(t *testing.T) {
	describe := func(pk *network.Packet) story.Record { return story.Record{Text: string(pk.Payload)} }
	w, log := newWorld(network.Settings{Duplicate: 1, Describe: describe}, 3), story.NewLog(0)
	w.trace = trace.New(log, &w.now)
	a, b := w.ends[0], w.ends[1]
	w.net.LoseBy(func(_, _ int, pk *network.Packet) bool { return pk.Payload[0] == 'x' })
	for _, s := range []string{"x", "y"} {
		w.net.Send(a, b.uid, network.Control, network.ToMember, 0, []byte(s))
	}
	w.net.Send(a, 77, network.Control, network.ToMember, 0, []byte("z"))
	w.run(time.Minute)
	w.net.Cut(func(from, to int) bool { return from == 0 })
	w.net.Cut(func(from, to int) bool { return from == 0 })
	w.net.Send(a, b.uid, network.Data, network.ToReplica, 0, []byte("held"))
	w.At(w.now+int64(time.Minute), nil, func() { w.net.Cut(nil) })
	w.run(2 * time.Minute)
	want := []string{
		"sent n0>n1 #1 x", "lost n0>n1 #1 x is lost by chance", "sent n0>n1 #2 y", "sent n0> #3 z",
		"lost n0> #3 z is lost for its receiver has ended", "received n1>n0 #2 y", "received n1>n0 #2 y",
		"fault > # CUT n0 to n1 n2", "sent n0>n1 #4 held", "lost n0>n1 #4 held is lost for its connection broke",
		"note > # CUT ENDS",
	}
	if got := told(log); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestWatchedStripe: a frame arrives, or is lost with what carried it.
func TestWatchedStripe(t *testing.T) {
	w, log := newWorld(network.Settings{LaneMax: 1 << 20}, 2), story.NewLog(0)
	w.trace = trace.New(log, &w.now)
	a, b := w.ends[0], w.ends[1]
	s := w.net.Connect(a, b, 0, random.Streams{Seed: 1}.Stream("stripe", 0))
	send := func() {
		if err := s.Append(1, func([]byte) []byte { return []byte("x") }, nil); err != nil {
			t.Error(err)
		}
	}
	send()
	w.run(time.Second)
	w.net.Cut(apart)
	send()
	s.Remove()
	w.run(time.Minute)
	want := []string{
		"sent n0>n1 #1 ", "received n1>n0 #1 ", "fault > # CUT n0 to n1, n1 to n0", "sent n0>n1 #2 ",
		"lost n0>n1 #2  is lost for its receiver is no peer any more",
	}
	if got := told(log); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
