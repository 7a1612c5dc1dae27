package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/golden"
)

// fakeNode is a cluster of members, and channels that note what was sent and dropped.
type fakeNode struct {
	view    *view.View
	sent    [][]byte
	lanes   []transport.Lane
	dropped int
}

func newFake(members ...view.UID) *fakeNode {
	n := &fakeNode{view: &view.View{}}
	for _, uid := range members {
		n.view.Members = append(n.view.Members, view.Member{UID: uid})
	}
	return n
}

func (n *fakeNode) unserved() *Unserved {
	return NewUnserved(n, n, slog.New(slog.NewTextHandler(io.Discard, nil)))
}

func (n *fakeNode) UID() view.UID                                    { return 1 }
func (n *fakeNode) View() *view.View                                 { return n.view }
func (n *fakeNode) Offer(view.Service)                               {}
func (n *fakeNode) OnView(func(*view.View)) (cancel func())          { return func() {} }
func (n *fakeNode) OnReachable(func(view.UID, bool)) (cancel func()) { return func() {} }
func (n *fakeNode) Claim(transport.Channel) []byte                   { return nil }
func (n *fakeNode) Handle(transport.Channel, transport.Handler)      {}
func (n *fakeNode) CountDrop(_ transport.Drop, frames int)           { n.dropped += frames }
func (n *fakeNode) OnLink(func(transport.LinkEvent)) (cancel func()) { return func() {} }
func (n *fakeNode) Append(_ transport.NodeID, lane transport.Lane, _ uint32, _ transport.Channel,
	fill func([]byte) []byte, _ func() error) error {
	n.sent, n.lanes = append(n.sent, fill(nil)), append(n.lanes, lane)
	return nil
}
func (n *fakeNode) AppendWait(context.Context, transport.NodeID, transport.Lane, uint32, transport.Channel,
	func([]byte) []byte, func() error) error {
	panic("it waits")
}

// ask has a peer ask a question on a channel, and reports whether it was answered.
func (n *fakeNode) ask(u *Unserved, peer transport.NodeID, ch transport.Channel, promise string) bool {
	before := len(n.sent)
	q := Question{Lane: transport.Control, Promise: []byte(promise), Otherwise: []byte("nothing here")}
	if h := u.Handler(ch); h != nil {
		h.Receive(peer, append(q.Append(nil), "frame"...))
	}
	return len(n.sent) > before
}

// A question is answered with what it brings, in the lane that it names; the highest promise is what
// the channel's owner gets. A question with a lower one, and all that come after the claim, are not
// answered.
func TestUnservedChannelsAnswerUntilTheyAreClaimed(t *testing.T) {
	n := newFake(2, 3)
	u := n.unserved()
	const ch = transport.Channel(7)
	if !n.ask(u, 2, ch, "b") || n.ask(u, 3, ch, "a") || !n.ask(u, 3, ch, "b") || !n.ask(u, 3, ch, "c") ||
		!n.ask(u, 3, ch, "") || n.dropped != 0 {
		t.Errorf("answers: %q; %d dropped", n.sent, n.dropped)
	}
	if string(n.sent[0]) != "nothing here" || n.lanes[0] != transport.Control {
		t.Errorf("answer %q in lane %v", n.sent[0], n.lanes[0])
	}
	u.Handler(ch).Receive(2, Question{Lane: transport.Data}.Append(nil))
	if len(n.sent) != 4 || n.dropped != 0 {
		t.Errorf("a question without an answer: %q sent, %d dropped", n.sent, n.dropped)
	}
	u.Handler(ch).Receive(2, []byte("no question"))
	if n.dropped != 1 {
		t.Errorf("%d dropped", n.dropped)
	}
	late := u.Handler(ch)
	if p := u.Claim(ch); string(p) != "c" {
		t.Errorf("promised: %q", p)
	}
	if late.Receive(2, Question{Otherwise: []byte("x")}.Append(nil)); len(n.sent) != 4 || n.dropped != 2 {
		t.Errorf("answered after the claim: %q", n.sent)
	}
	if u.Handler(ch) != nil || n.ask(u, 2, ch, "z") {
		t.Error("a claimed channel is answered for")
	}
	if p := u.Claim(8); p != nil {
		t.Errorf("promised on another channel: %q", p)
	}
}

// A peer that asks on channels without end uses up its own share and no more: the questions of
// others are answered, and what was promised to them is kept. Questions that promise nothing, and
// those of strangers, leave nothing behind.
func TestPeersHaveSharesOfUnservedChannels(t *testing.T) {
	n := newFake(2, 3)
	u := n.unserved()
	const other = transport.Channel(1 << 40)
	for i := range 2 * promisesMax {
		if got := n.ask(u, 2, transport.Channel(i+1), "a"); got != (i < promisesMax) {
			t.Fatalf("question %d is answered: %t", i, got)
		}
		if n.ask(u, transport.NodeID(i+4), other, "a") {
			t.Fatal("a stranger is promised something")
		}
		if !n.ask(u, 2, other, "") {
			t.Fatal("a question that asks for no promise is not answered")
		}
	}
	if !n.ask(u, 3, other, "b") || n.ask(u, 3, other, "a") {
		t.Error("another peer gets no promise, or it is not kept")
	}
	if !n.ask(u, 2, other, "b") {
		t.Error("a question about what is kept already needs a place")
	}
	if p := u.Claim(other); string(p) != "b" || u.shares[3] != 0 {
		t.Errorf("%q; shares %v", p, u.shares)
	}
}

// When all places are taken, what was promised to nodes that are gone makes room.
func TestGoneNodesLeaveRoomForPromises(t *testing.T) {
	n := newFake()
	u := n.unserved()
	for i := range promisesTotalMax {
		gone := view.UID(i%100 + 10)
		n.view = &view.View{Members: []view.Member{{UID: gone}}}
		if !n.ask(u, transport.NodeID(gone), transport.Channel(i+1), "a") {
			t.Fatalf("no place for the %dth", i)
		}
	}
	n.view = newFake(2).view
	if !n.ask(u, 2, 1<<40, "a") || len(u.promises) != 1 || len(u.shares) != 1 {
		t.Errorf("%d promises are kept for %d peers", len(u.promises), len(u.shares))
	}
}

// FuzzCutQuestion: whatever comes is a question that is written back as it was, or no question.
func FuzzCutQuestion(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("?"))
	f.Add(append(Question{Lane: transport.Bulk, Promise: []byte("p"), Otherwise: make([]byte, 300)}.Append(nil),
		"frame"...))
	f.Add(Question{Promise: make([]byte, promiseMax+1)}.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		q, frame, ok := CutQuestion(b)
		if !ok {
			if !bytes.Equal(frame, b) {
				t.Fatalf("%x is cut to %x", b, frame)
			}
			return
		}
		if back := append(q.Append(nil), frame...); !bytes.Equal(back, b) {
			t.Fatalf("%x is written as %x", b, back)
		}
	})
}

// Each type has one value on a node.
func TestAttachKeepsOneValuePerType(t *testing.T) {
	type mine struct{ n int }
	type other struct{ n int }
	h := Host{Attached: &Attached{}}
	first := Attach(h, func() *mine { return &mine{1} })
	if again := Attach(h, func() *mine { return &mine{2} }); again != first || again.n != 1 {
		t.Errorf("%v, then %v", first, again)
	}
	if o := Attach(h, func() *other { return &other{3} }); o.n != 3 {
		t.Errorf("%v", o)
	}
	if elsewhere := Attach(Host{Attached: &Attached{}}, func() *mine { return &mine{4} }); elsewhere.n != 4 {
		t.Errorf("%v", elsewhere)
	}
}

func TestQuestionsKeepTheirBytes(t *testing.T) {
	q := Question{Lane: transport.Data, Promise: []byte{1, 2}, Otherwise: []byte{3}}
	golden.Formats(t, []golden.Sample{{
		Name: "question", Bytes: append(q.Append(nil), 4, 5), Want: q,
		Read: func(b []byte) (any, error) {
			q, frame, ok := CutQuestion(b)
			if !ok || !bytes.Equal(frame, []byte{4, 5}) {
				return nil, errors.New("no question with its frame")
			}
			return q, nil
		},
	}})
}
