package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
)

// inParts is a message as parts of at most so many bytes.
func inParts(dst []byte, ch Channel, payload []byte, most int) []byte {
	out, _ := frame.Cut(appendFrame(dst, ch, payload), len(dst), uint64(ch), most)
	return out
}

// sink takes receipts.
type sink struct{ net.Conn }

// Write takes b.
func (sink) Write(b []byte) (int, error) { return len(b), nil }

// SetWriteDeadline does nothing.
func (sink) SetWriteDeadline(time.Time) error { return nil }

// The bits of a frame's length that tell parts.
const firstPart, nextPart = 1 << 31, 1 << 30

// taken is how many bytes of its peer's room the messages of a connection have.
func taken(t *turn) int {
	n, _ := t.room.Load()
	return n
}

// dataTurn is the turn of a connection in the Data lane whose receipts go nowhere.
func dataTurn(m *Mesh, messageMax int) *turn {
	m.local.cfg.MessageMax = messageMax
	counter := receipt.NewCounter(sink{}, time.Second, 0, false, func() {})
	return &turn{receipts: counter, room: frame.NewRoom(messageMax), drain: make(chan struct{})}
}

// What is no message in parts ends the connection; what came before it counts as received, and
// nothing of it.
func TestBrokenParts(t *testing.T) {
	const most, limit = 100, 1000
	message := inParts(nil, 1, make([]byte, 250), most)
	first, _ := frame.Size(message, most)
	second, _ := frame.Size(message[first:], most)
	edit := func(b []byte, at int, v uint32) []byte {
		b = bytes.Clone(b)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for what, bad := range map[string][]byte{
		"another frame within":      append(bytes.Clone(message[:first]), appendFrame(nil, 1, []byte("x"))...),
		"another message within":    append(bytes.Clone(message[:first]), message...),
		"of another channel":        edit(message, first+4, 2),
		"goes on and has not begun": message[first:],
		"both bits at once":         edit(message, 0, most|firstPart|nextPart),
		"above MessageMax":          edit(message, frame.HeaderSize, limit+1),
		"4 GiB":                     edit(message, frame.HeaderSize, 1<<32-1),
		"more than it said":         edit(message, frame.HeaderSize, 200),
		"of no bytes":               edit(message, frame.HeaderSize, 0),
		"a part of no bytes": append(bytes.Clone(message[:first]),
			edit(message[first:first+frame.HeaderSize], 0, nextPart)...),
		"a first part without a size": edit(message[:frame.HeaderSize+3], 0, 3|firstPart),
		"a first part with no more":   edit(message[:frame.HeaderSize+4], 0, 4|firstPart),
	} {
		m := bare(most)
		turn := dataTurn(m, limit)
		handled := 0
		m.Handle(1, HandlerFunc(func(NodeID, []byte) { handled++ }))
		m.Handle(2, HandlerFunc(func(NodeID, []byte) { handled++ }))
		good := append(inParts(nil, 1, make([]byte, 333), most), appendFrame(nil, 1, nil)...)
		err := m.in.reader.read(&script{
			data: append(bytes.Clone(good), bad...), portion: func() int { return 70 },
		}, 9, turn)
		turn.receipts.End(false)
		if !errors.Is(err, ErrProtocol) || handled != 2 || turn.receipts.Received() != uint64(frame.Count(good)) {
			t.Errorf("%s: %v; %d handled, %d frames received of %d",
				what, err, handled, turn.receipts.Received(), frame.Count(good))
		}
		if taken(turn) != 0 {
			t.Errorf("%s: %d bytes of room are never given back", what, taken(turn))
		}
	}
	// Where nothing is sent again, nothing may come in parts.
	m := bare(most)
	_ = dataTurn(m, limit)
	for _, turn := range []*turn{nil, {}} {
		conn := &script{data: message, portion: func() int { return 1000 }}
		if err := m.in.reader.read(conn, 9, turn); !errors.Is(err, ErrProtocol) {
			t.Errorf("parts beside the Data lane: %v", err)
		}
	}
	// A connection that ends within a message has not brought it.
	turn := dataTurn(m, limit)
	err := m.in.reader.read(&script{data: message[:first+second], portion: func() int { return 1000 }}, 9, turn)
	turn.receipts.End(false)
	if err != io.EOF || turn.receipts.Received() != 0 || taken(turn) != 0 {
		t.Errorf("%v, %d received, room taken %d", err, turn.receipts.Received(), taken(turn))
	}
}

// A peer that claims messages of 16 MiB on every stripe and sends little of each gets no more than
// their bytes. It cannot hold up another node, and a message that a later connection of the stripe
// brings gets its room.
func TestHostileParts(t *testing.T) {
	b := besiege(t, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc + s.StackInuse
	}
	claim := inParts(nil, 1, make([]byte, 300<<10), partMax)
	claim = claim[:partMax+frame.HeaderSize]
	binary.LittleEndian.PutUint32(claim[frame.HeaderSize:], DefaultMessageMax)
	greet := func(stripe uint32, gen uint64) []byte {
		hs, err := appendHandshake(nil, kindLink, hello{
			Formats: format.Build(),
			Cluster: "c", From: 77, To: 1, Addr: "10.0.0.1:1", Generation: gen, Lane: Data, Stripe: stripe,
			FrameMax: DefaultFrameMax, MessageMax: DefaultMessageMax,
		})
		if err != nil {
			t.Fatal(err)
		}
		return hs
	}
	before := heap()
	const n = stripesLimit
	b.come(n, func(i int) []byte { return append(greet(uint32(i), 1), claim...) })
	waiting := func() (taken, wait int) {
		o := &b.m.in.origins
		o.mu.Lock()
		defer o.mu.Unlock()
		if from := o.byID[77]; from != nil {
			return from.room.Load()
		}
		return 0, 0
	}
	b.eventually("one has room and the others wait", func() bool {
		taken, wait := waiting()
		return taken == DefaultMessageMax && wait == n-1
	})
	if cost := int64(heap()) - int64(before); cost > n*4*partMax {
		t.Errorf("%d connections cost %d bytes each, having sent %d", n, cost/n, partMax)
	}
	b.serves(2)
	for i := range uint32(n) { // whichever holds the room, its successor takes its place
		c, err := TCP().Dial(t.Context(), b.m.Addr())
		if err != nil {
			t.Fatal(err)
		}
		b.crowd = append(b.crowd, c)
		_, _ = c.Write(append(greet(i, 2), appendFrame(nil, 1, []byte("hello"))...))
	}
	b.eventually("the room is free again", func() bool {
		taken, wait := waiting()
		return taken == 0 && wait == 0 && b.m.Stats().Readers == n
	})
	b.serves(3)
}

// A node that would send larger messages is refused, with the reason.
func TestMessageMaxIsAgreed(t *testing.T) {
	b := besiege(t, func(c *Config) { c.MessageMax = DefaultFrameMax })
	got := make(chan Refusal, 16)
	m, err := Listen(t.Context(), Config{Cluster: "c", Self: 2, Bind: "127.0.0.1:0", OnEvent: onEvent(func(r Refusal) {
		select {
		case got <- r:
		default:
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.AddPeer(1, b.m.Addr()); err != nil {
		t.Fatal(err)
	}
	if r := <-got; r.Cause.Reason != RefusedLimit || !strings.Contains(r.Cause.Text, "MessageMax") {
		t.Error(r)
	}
}

// What is lost of messages in parts is told as messages.
func TestLostParts(t *testing.T) {
	m := bare(100)
	var got []int
	m.Handle(1, lossFunc(func(p []byte) { got = append(got, len(p)) }))
	b := appendFrame(nil, 1, make([]byte, 5))
	b = inParts(b, 1, make([]byte, 500), 100)
	b = appendFrame(b, 1, make([]byte, 7))
	m.channels.lost(3, DropConnLost, b, true)
	if len(got) != 3 || got[0] != 5 || got[1] != 500 || got[2] != 7 || m.Stats().Dropped[DropConnLost] != 3 {
		t.Errorf("lost %v, counted %d", got, m.Stats().Dropped[DropConnLost])
	}
	rest := b[2*(frame.HeaderSize+5)+100:] // a receiver that acknowledges a part of a message is not correct
	rest = rest[skipToNext(rest):]
	m.channels.lost(3, DropConnLost, rest, true)
	if got[len(got)-1] != 7 {
		t.Errorf("lost %v", got)
	}
}

func skipToNext(b []byte) int {
	for at := range b {
		if len(b)-at >= frame.HeaderSize && frame.Channel(b[at:]) == 1 &&
			binary.LittleEndian.Uint32(b[at:])>>30 == nextPart>>30 {
			return at
		}
	}
	return len(b)
}

// lossFunc takes what is lost.
type lossFunc func([]byte)

// Receive takes nothing.
func (lossFunc) Receive(NodeID, []byte) {}

// Lost calls f.
func (f lossFunc) Lost(_ NodeID, p []byte, _ bool) { f(p) }

// FuzzParts: whatever comes in the Data lane, what is handed over and what is held stays below what
// came; what one end cuts, the other joins.
func FuzzParts(f *testing.F) {
	f.Add(inParts(nil, 1, make([]byte, 300), 64), uint8(3), uint16(200))
	f.Add(append(inParts(nil, 1, make([]byte, 70), 64), appendFrame(nil, 1, []byte("x"))...), uint8(90), uint16(1))
	f.Add(binary.LittleEndian.AppendUint32(nil, 64|firstPart), uint8(1), uint16(0))
	f.Fuzz(func(t *testing.T, stream []byte, portion uint8, size uint16) {
		m := bare(64)
		turn := dataTurn(m, 1000)
		total := 0
		m.Handle(1, HandlerFunc(func(_ NodeID, p []byte) { total += len(p) }))
		read := func(b []byte) error {
			return m.in.reader.read(&script{data: b, portion: func() int { return int(portion) }}, 9, turn)
		}
		if err := read(stream); err == nil || total > len(stream) || taken(turn) != 0 {
			t.Fatalf("%v; %d bytes handled of %d; room taken %d", err, total, len(stream), taken(turn))
		}
		before := turn.receipts.Received()
		b, frames := appendFrame(nil, 1, make([]byte, size%1000)), 1
		if size%1000 > 64 {
			b, frames = frame.Cut(b, 0, 1, 64)
		}
		total = 0
		if err := read(b); err != io.EOF && err != io.ErrUnexpectedEOF || total != int(size%1000) {
			t.Fatalf("%v; %d bytes of %d", err, total, size%1000)
		}
		if got := turn.receipts.Received() - before; got != uint64(frames) {
			t.Fatalf("%d frames received of %d", got, frames)
		}
		turn.receipts.End(false)
	})
}
