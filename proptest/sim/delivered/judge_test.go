package delivered

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/delivery"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// story plays steps of consumers to a Judge.
type story struct {
	*Judge
	broken string // the check that has complained; empty: none has
}

func newStory() *story {
	s := &story{}
	s.Judge = NewJudge(func(check, _ string, _ ...any) { s.broken = check })
	return s
}

func session(channel uint64) delivery.Session {
	return delivery.Session{Generation: 1, Channel: channel}
}

// gives gives a message to the handler of an incarnation, and reports whether one had it before.
func (s *story) gives(incarnation, channel, seq uint64, body string) (again bool) {
	_, again = s.Stepped(delivery.Step{
		Entity: "e", Incarnation: incarnation, In: protocol.Held{},
		Fx: &protocol.ConsumerEffects{Deliver: &protocol.Packet{
			Producer: "p", Session: session(channel), Seq: seq, Body: []byte(body),
		}},
	})
	return again
}

// ends has the handler return.
func (s *story) ends(incarnation, channel, seq uint64, handled bool) {
	word := protocol.Handled{Incarnation: incarnation, Producer: "p", Session: session(channel), Seq: seq}
	step := delivery.Step{Entity: "e", Incarnation: incarnation, In: word, Fx: &protocol.ConsumerEffects{}}
	if !handled {
		step.In = protocol.Failed(word)
	}
	s.Stepped(step)
}

// handles gives a message, which is handled.
func (s *story) handles(incarnation, channel, seq uint64, body string) {
	s.gives(incarnation, channel, seq, body)
	s.ends(incarnation, channel, seq, true)
}

// TestJudge plays a story that is in order, and one for each rule that is broken.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		about, want string // the check that complains; empty: none does
		play        func(*story)
	}{
		{"in order, over incarnations and sessions", "", func(s *story) {
			s.handles(7, 1, 1, "a")
			s.gives(7, 1, 2, "b")
			s.ends(7, 1, 2, false)
			if !s.gives(7, 1, 2, "b") {
				s.broken = "it was given before"
			}
			s.ends(7, 1, 2, true)
			s.handles(8, 1, 2, "b")
			s.handles(8, 1, 3, "a")
			s.handles(8, 2, 1, "c")
			for range 2 {
				s.Confirmed("p", "e", []byte("a"))
			}
			s.removed("p", delivery.RowKey{Session: session(1), Seq: 3})
		}},
		{"one is left out", "no delivery is left out", func(s *story) {
			s.handles(7, 1, 1, "a")
			s.gives(8, 1, 3, "c")
		}},
		{"one that was not handled is left out", "no delivery is left out", func(s *story) {
			s.gives(7, 1, 1, "a")
			s.ends(7, 1, 1, false)
			s.gives(7, 1, 2, "b")
		}},
		{"again in one incarnation", "an incarnation handles a delivery once", func(s *story) {
			s.handles(7, 1, 1, "a")
			s.gives(7, 1, 1, "a")
		}},
		{"back to an earlier session", "deliveries keep their order", func(s *story) {
			s.handles(7, 2, 1, "a")
			s.gives(7, 1, 1, "b")
		}},
		{"two at a time", "a handler has one delivery at a time", func(s *story) {
			s.handles(6, 1, 1, "a")
			s.gives(7, 1, 1, "a")
			s.gives(7, 1, 2, "b")
		}},
		{"another message under its number", "a number stays with its message", func(s *story) {
			s.handles(7, 1, 1, "a")
			s.handles(8, 1, 1, "b")
		}},
		{"confirmed once too often", "what is confirmed was handled", func(s *story) {
			s.handles(7, 1, 1, "a")
			s.handles(8, 1, 1, "a") // which is the same one
			s.Confirmed("p", "e", []byte("a"))
			s.Confirmed("p", "e", []byte("a"))
		}},
		{"the word of an earlier incarnation", "what is confirmed was handled", func(s *story) {
			s.gives(7, 1, 1, "a")
			s.gives(8, 1, 1, "a")
			word := protocol.Handled{Incarnation: 7, Producer: "p", Session: session(1), Seq: 1}
			s.Stepped(delivery.Step{Entity: "e", Incarnation: 8, In: word, Fx: &protocol.ConsumerEffects{}})
			s.Confirmed("p", "e", []byte("a"))
		}},
		{"removed too early", "a queue keeps what was not handled", func(s *story) {
			s.handles(7, 1, 1, "a")
			s.removed("p", delivery.RowKey{Session: session(1), Seq: 2})
		}},
	} {
		t.Run(c.about, func(t *testing.T) {
			s := newStory()
			if c.play(s); s.broken != c.want {
				t.Errorf("%q, want %q", s.broken, c.want)
			}
		})
	}
}
