package peers

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/proptest/golden"
)

// network carries frames between nodes at once, and answers as a node without a console does.
type network struct {
	mu       sync.Mutex
	handlers map[transport.NodeID]transport.Handler
	mute     map[transport.NodeID]bool // its frames are lost
	lanes    map[transport.Lane]int
}

// port is one node's.
type port struct {
	host.Channels
	n    *network
	self transport.NodeID
}

func (p port) Claim(transport.Channel) []byte { return nil }

func (p port) CountDrop(transport.Drop, int) {}

func (p port) Handle(_ transport.Channel, h transport.Handler) {
	p.n.mu.Lock()
	defer p.n.mu.Unlock()
	p.n.handlers[p.self] = h
}

func (p port) Append(to transport.NodeID, lane transport.Lane, _ uint32, _ transport.Channel,
	fill func([]byte) []byte, _ func() error) error {
	payload := fill(nil)
	p.n.mu.Lock()
	h, mute := p.n.handlers[to], p.n.mute[p.self]
	p.n.lanes[lane]++
	p.n.mu.Unlock()
	switch q, _, ok := host.CutQuestion(payload); {
	case len(payload) > transport.DefaultFrameMax:
		return transport.ErrFrameTooLarge
	case mute:
	case h != nil:
		h.Receive(p.self, payload)
	case ok:
		p.n.handlers[p.self].Receive(to, q.Otherwise)
	default:
		return transport.ErrNoPeer
	}
	return nil
}

// ends is a host.Lifecycle that the test ends.
type ends struct {
	host.Lifecycle
	end *func(error)
}

func (e ends) OnEnd(fn func(error)) (cancel func()) {
	*e.end = fn
	return func() {}
}

func newNetwork() *network {
	return &network{
		handlers: map[transport.NodeID]transport.Handler{}, mute: map[transport.NodeID]bool{},
		lanes: map[transport.Lane]int{},
	}
}

// join opens a node's line. end ends the node.
func (n *network) join(id transport.NodeID, a Answerer) (l *Line, end func()) {
	var fn func(error)
	l = New(host.Host{Channels: port{n: n, self: id}, Lifecycle: ends{end: &fn}}, "console", a)
	return l, func() { fn(nil) }
}

func echo(_ context.Context, _ view.UID, q []byte) ([]byte, error) {
	return append([]byte("re: "), q...), nil
}

func TestAsk(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, endA := n.join(1, echo)
		_, endB := n.join(2, echo)
		_, endC := n.join(3, func(context.Context, view.UID, []byte) ([]byte, error) {
			return nil,
				errors.New("not today")
		})
		_, endD := n.join(4, func(context.Context, view.UID, []byte) ([]byte, error) { panic("oh") })
		_, endE := n.join(5, func(context.Context, view.UID, []byte) ([]byte, error) {
			return make([]byte,
				BytesMax+1), nil
		})
		defer func() { endA(); endB(); endC(); endD(); endE() }()
		if got, err := a.Ask(t.Context(), 2, []byte("hi")); string(got) != "re: hi" || err != nil {
			t.Errorf("%q %v", got, err)
		}
		for node, says := range map[view.UID]string{3: "not today", 4: "it has panicked: oh",
			5: "at most"} { // order: none matters
			if _, err := a.Ask(t.Context(), node, nil); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(),
				says) {
				t.Errorf("%v: %v", node, err)
			}
		}
		if _, err := a.Ask(t.Context(), 9, nil); !errors.Is(err, ErrAbsent) {
			t.Errorf("a node without a console: %v", err)
		}
		if _, err := a.Ask(t.Context(), 2, make([]byte, BytesMax+1)); err == nil {
			t.Error("a question of any size is sent")
		}
		if n.lanes[transport.Control]+n.lanes[transport.Data] > 0 {
			t.Errorf("other lanes are used: %v", n.lanes)
		}
		if len(a.open) > 0 {
			t.Errorf("%d calls are kept", len(a.open))
		}
	})
}

// A node that hangs costs its asker the time limit, and no more; one that is asked too much says so.
func TestHungAndBusy(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, endA := n.join(1, echo)
		release := make(chan struct{})
		hang := func(ctx context.Context, _ view.UID, _ []byte) ([]byte, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, errors.New("it hangs")
		}
		_, endB := n.join(2, hang)
		defer endA()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Ask(ctx, 2, nil)
		if !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "it hangs") ||
			time.Since(began) >= time.Second {
			t.Errorf("after %v, without what the answerer says of it: %v", time.Since(began), err)
		}
		var wg sync.WaitGroup
		for range AnswersMax {
			wg.Go(func() { _, _ = a.Ask(t.Context(), 2, nil) })
		}
		synctest.Wait()
		if _, err := a.Ask(t.Context(), 2, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("one more than may be is answered: %v", err)
		}
		close(release)
		wg.Wait()
		endB() // waits for what it answers
		if _, err := a.Ask(t.Context(), 2, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("a node that has ended answers: %v", err)
		}
		n.mute[1] = true
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Ask(short, 2, nil); !errors.Is(err, ErrSilent) {
			t.Errorf("a lost frame: %v", err)
		}
	})
}

// Answers of others than the node that was asked, late ones and garbage change nothing.
func TestHostile(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		n := newNetwork()
		a, end := n.join(1, echo)
		defer end()
		n.handlers[2] = transport.HandlerFunc(func(from transport.NodeID, payload []byte) {
			f, err := parse(payload)
			if err != nil {
				t.Error(err)
			}
			forged := frame{kind: answer, id: f.id, body: []byte("forged")}.append(nil)
			n.handlers[from].Receive(3, forged)                                        // not the node that was asked
			n.handlers[from].Receive(2, frame{kind: answer, id: f.id + 1}.append(nil)) // no such call
			n.handlers[from].Receive(2, []byte("garbage"))                             // no frame
			n.handlers[from].Receive(2, append(bytes.Clone(forged), 0))                // something behind it
			n.handlers[from].Receive(2, frame{kind: answer, id: f.id, body: []byte("true")}.append(nil))
			n.handlers[from].Receive(2, frame{kind: answer, id: f.id, body: []byte("again")}.append(nil))
		})
		if got, err := a.Ask(t.Context(), 2, nil); string(got) != "true" || err != nil {
			t.Errorf("%q %v", got, err)
		}
	})
}

func TestWire(t *testing.T) {
	asked := frame{kind: question, id: 7, number: 1000, body: []byte(`{"ask":"node"}`)}
	told := frame{kind: answer, id: 7, number: good, body: []byte(`{}`)}
	full := frame{kind: answer, id: 1 << 60, number: busy, body: []byte{}}
	golden.Formats(t, []golden.Sample{
		{Name: "question", Bytes: asked.appendQuestion(nil), Read: golden.Reads(parse), Want: asked},
		{Name: "answer", Bytes: told.append(nil), Read: golden.Reads(parse), Want: told},
		{Name: "busy", Bytes: full.append(nil), Read: golden.Reads(parse), Want: full},
	})
	for _, bad := range []string{"", "85", "8502000000", "850103000040", "8501000000", "f6"} {
		b, err := hex.DecodeString(bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(b); err == nil {
			t.Errorf("%q is taken for a frame", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(frame{kind: question, id: 7, number: 9, body: []byte("x")}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := parse(b); err == nil {
			if y, err := parse(x.append(nil)); err != nil || y.id != x.id || !bytes.Equal(x.body, y.body) {
				t.Fatal(x, y, err)
			}
		}
	})
}
