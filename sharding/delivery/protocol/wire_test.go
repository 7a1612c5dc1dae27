package protocol

import (
	"bytes"
	"testing"
	"time"

	library "github.com/fxamacker/cbor/v2"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/proptest/golden"
)

var (
	timeZero = time.Unix(0, 0)
	aPacket  = Packet{
		Origin: 300, Producer: "w", Session: Session{1, 2}, Seq: 5, Base: 4, Round: 1, AckNow: true, Body: []byte{0xaa},
	}
	aWord = Handled{Incarnation: 7, Producer: "w", Session: Session{1, 2}, Seq: 5}
	anAck = Ack{Entity: "e", Session: Session{1, 2}, Verdict: Gap, Confirmed: 3, Expected: 5, Window: 50, Round: 1}
)

// The bytes are a promise to peers of other builds.
func TestGoldenMessages(t *testing.T) {
	consumer := golden.Reads(DecodeForConsumer)
	samples := []golden.Sample{
		{Name: "packet", Bytes: AppendPacket(nil, &aPacket), Read: consumer, Want: aPacket},
		{Name: "handled", Bytes: AppendHandled(nil, &aWord), Read: consumer, Want: aWord},
		{Name: "failed", Bytes: AppendFailed(nil, (*Failed)(&aWord)), Read: consumer, Want: Failed(aWord)},
		{Name: "ack", Bytes: AppendAck(nil, &anAck), Read: golden.Reads(DecodeAck), Want: anAck},
	}
	for _, s := range samples {
		if err := library.Wellformed(s.Bytes[1:]); err != nil {
			t.Errorf("%s is not CBOR: %v", s.Name, err)
		}
	}
	var known []uint64
	for k := uint64(wirePacket); k < wireEnd; k++ {
		known = append(known, k)
	}
	golden.Kinds(t, known, samples, func(b []byte) uint64 {
		_, kind := open(cbor.NewReader(b))
		return kind
	})
	golden.Formats(t, samples)
}

// Whatever arrives is refused or comes back as the same bytes, and no machine breaks over it.
func FuzzForConsumer(f *testing.F) {
	f.Add(AppendPacket(nil, &aPacket))
	f.Add(AppendHandled(nil, &aWord))
	f.Add(AppendFailed(nil, (*Failed)(&aWord)))
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := DecodeForConsumer(b)
		if err != nil {
			return
		}
		c := NewConsumer(ConsumerConfig{}, "e", 7)
		for range 2 {
			if c.Step(timeZero, in).Deliver != nil {
				p := in.(Packet)
				c.Step(timeZero, Handled{Incarnation: 7, Producer: p.Producer, Session: p.Session, Seq: p.Seq})
			}
			c.check()
		}
		var again []byte
		switch in := in.(type) {
		case Packet:
			again = AppendPacket(nil, &in)
		case Failed:
			again = AppendFailed(nil, &in)
		case Handled:
			again = AppendHandled(nil, &in)
		}
		if !bytes.Equal(b, again) {
			t.Errorf("%x became %x", b, again)
		}
	})
}

func FuzzAck(f *testing.F) {
	f.Add(AppendAck(nil, &anAck))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := DecodeAck(b)
		if err != nil {
			return
		}
		if again := AppendAck(nil, &a); !bytes.Equal(b, again) {
			t.Errorf("%x became %x", b, again)
		}
		p, err := NewProducer(timeZero, ProducerConfig{ID: "w", Generation: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for op := range uint64(5) {
			p.Step(timeZero, Submit{Op: op, Entity: "e", Body: []byte{1}})
		}
		a.Entity, a.Session = "e", Session{1, 1}
		for _, in := range []ProducerInput{Flush{}, a, Flush{}, a, Flush{}} {
			p.Step(timeZero, in)
			p.check()
		}
	})
}
