package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// script is a connection that brings given bytes in given portions, and then ends.
type script struct {
	net.Conn
	data    []byte
	portion func() int
}

// Read brings the next portion.
func (s *script) Read(b []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.data[:min(len(s.data), max(1, s.portion()))])
	s.data = s.data[n:]
	return n, nil
}

// SetReadDeadline does nothing.
func (s *script) SetReadDeadline(time.Time) error { return nil }

func appendFrame(dst []byte, ch Channel, payload []byte) []byte {
	return frame.Append(dst, uint64(ch), payload)
}

// bare is a mesh that only reads.
func bare(frameMax int) *Mesh {
	return newMesh(Config{FrameMax: frameMax}.WithDefaults(), "", nil)
}

// gathering is a BatchHandler that notes the frames of its channel in the order of all.
type gathering struct {
	ch    Channel
	got   *[]string
	parts *int // calls with several frames
}

// Receive implements Handler.
func (g gathering) Receive(_ NodeID, p []byte) {
	*g.got = append(*g.got, fmt.Sprintf("%v %x", g.ch, p))
}

// ReceiveAll implements BatchHandler.
func (g gathering) ReceiveAll(from NodeID, all [][]byte) {
	if *g.parts++; len(all) > BatchMax {
		panic(len(all))
	}
	for _, p := range all {
		g.Receive(from, p)
	}
}

// What a handler gets together is what came, in the order among the channels too, and a frame stays as it is
// until it has been handed over.
func TestReadFramesTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	together := 0
	for round := range 60 {
		var stream []byte
		var want, got []string
		m := bare(3000)
		for ch := range Channel(3) {
			g := gathering{ch, &got, &together}
			if m.Handle(ch, g); ch == 2 {
				m.Handle(ch, HandlerFunc(g.Receive))
			}
		}
		for ch := Channel(0); len(want) < 600; {
			if rng.IntN(20) == 0 {
				ch = Channel(rng.IntN(3))
			}
			p := make([]byte, rng.IntN(10))
			if rng.IntN(50) == 0 {
				p = make([]byte, 3000)
			}
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			want = append(want, fmt.Sprintf("%v %x", ch, p))
			stream = appendFrame(stream, ch, p)
		}
		most := 16 << rng.IntN(16)
		err := m.in.reader.read(&script{data: stream, portion: func() int { return rng.IntN(most) }}, 9, nil)
		if err != io.EOF || !slices.Equal(got, want) {
			t.Fatalf("round %d: %v; %d frames of %d, or in another order", round, err, len(got), len(want))
		}
	}
	if together == 0 {
		t.Error("no frames were handed over together")
	}
}

func TestReadFramesInAnyPortions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		var stream []byte
		var want [][]byte
		for range rng.IntN(40) {
			p := make([]byte, []int{0, 1, 100, 5000, 70000, 300000}[rng.IntN(6)])
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			want = append(want, p)
			stream = appendFrame(stream, 5, p)
		}
		m := bare(300000)
		var got [][]byte
		m.Handle(5, HandlerFunc(func(from NodeID, p []byte) {
			if from != 9 {
				t.Fatalf("from %v", from)
			}
			got = append(got, bytes.Clone(p))
		}))
		most := 16 << rng.IntN(16)
		err := m.in.reader.read(&script{data: stream, portion: func() int { return rng.IntN(most) }}, 9, nil)
		if err != io.EOF || len(got) != len(want) {
			t.Fatalf("round %d: %v; %d frames of %d", round, err, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("round %d: frame %d differs", round, i)
			}
		}
		if s := m.Stats(); s.FramesIn != uint64(len(want)) || s.BytesIn != uint64(len(stream)) {
			t.Fatalf("round %d: counted %v", round, s)
		}
	}
}
func FuzzReadFrames(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, 1, []byte("one")), 2, nil), uint8(3))
	f.Add(binary.LittleEndian.AppendUint32(nil, 0xFFFFFFFF), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, portion uint8) {
		m := bare(1000)
		total := 0
		m.Handle(1, HandlerFunc(func(_ NodeID, p []byte) { total += len(p) + frame.HeaderSize }))
		err := m.in.reader.read(&script{data: stream, portion: func() int { return int(portion) }}, 9, nil)
		if err == nil || total > len(stream) {
			t.Fatalf("%v; %d bytes handled of %d", err, total, len(stream))
		}
		if errors.Is(err, ErrProtocol) != hasLongFrame(stream, 1000) {
			t.Fatalf("%v", err)
		}
	})
}

// hasLongFrame walks the stream as the wire's description says.
func hasLongFrame(b []byte, limit uint32) bool {
	for len(b) >= 12 {
		n := binary.LittleEndian.Uint32(b)
		if n > limit {
			return true
		}
		if uint64(len(b)) < 12+uint64(n) {
			return false
		}
		b = b[12+n:]
	}
	return false
}

// Frames of a failed write of which no byte was written stay first in the queue; one that was begun
// is lost.
func TestRequeue(t *testing.T) {
	m := bare(1000)
	defer m.cancel()
	size := len(appendFrame(nil, 1, []byte("abc")))
	for _, c := range []struct{ written, lost int }{
		{0, 0}, {1, 1}, {size - 1, 1}, {size, 1}, {size + 1, 2}, {3 * size, 3},
	} {
		before := m.Stats().Dropped[DropConnLost]
		q := newLink(&m.out.ports, 3, "a:1", Bulk, 0).q
		var batch []byte
		for _, p := range []string{"abc", "def", "ghi"} {
			batch = appendFrame(batch, 1, []byte(p))
		}
		q.waiting.Add(1, []byte("new"))
		(&session{n: &m.n, q: q}).putBack(frame.Batch{Buf: batch, Frames: 3}, c.written)
		want := append(bytes.Clone(batch[c.lost*size:]), appendFrame(nil, 1, []byte("new"))...)
		if got := q.waiting.Take(); !bytes.Equal(got.Buf, want) || got.Frames != 4-c.lost {
			t.Errorf("%d written: %d frames, %q", c.written, got.Frames, got.Buf)
		}
		if n := m.Stats().Dropped[DropConnLost] - before; n != uint64(c.lost) {
			t.Errorf("%d written: %d counted lost, want %d", c.written, n, c.lost)
		}
	}
}
