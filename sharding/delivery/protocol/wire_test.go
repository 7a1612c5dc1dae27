package protocol

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	library "github.com/fxamacker/cbor/v2"
)

var (
	timeZero = time.Unix(0, 0)
	aPacket  = Packet{
		Origin: 300, Producer: "w", Session: Session{1, 2}, Seq: 5, Base: 4, Round: 1, AckNow: true, Body: []byte{0xaa},
	}
	aWord = Handled{Incarnation: 7, Producer: "w", Session: Session{1, 2}, Seq: 5}
	anAck = Ack{Entity: "e", Session: Session{1, 2}, Verdict: Gap, Confirmed: 3, Expected: 5, Window: 50, Round: 1}
)

// The bytes, as they are drawn at the top of wire.go, and back.
func TestWire(t *testing.T) {
	for want, got := range map[string][]byte{
		"018a01" + "19012c" + "6177" + "01" + "02" + "05" + "04" + "01" + "01" + "41aa": AppendPacket(nil, &aPacket),
		"018602" + "07" + "6177" + "01" + "02" + "05":                                   AppendHandled(nil, &aWord),
		"018604" + "07" + "6177" + "01" + "02" +
			"05": AppendFailed(nil, (*Failed)(&aWord)),
		"018903" + "6165" + "01" + "02" + "01" + "03" + "05" + "1832" + "01": AppendAck(nil, &anAck),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("\nwant %s\ngot  %x", want, got)
		}
		if err := library.Wellformed(got[1:]); err != nil {
			t.Errorf("%x is not CBOR: %v", got, err)
		}
	}
	if in, err := DecodeForConsumer(AppendPacket(nil, &aPacket)); err != nil || !reflect.DeepEqual(in, aPacket) {
		t.Errorf("%v %v", in, err)
	}
	if in, err := DecodeForConsumer(AppendHandled(nil, &aWord)); err != nil || in != aWord {
		t.Errorf("%v %v", in, err)
	}
	if a, err := DecodeAck(AppendAck(nil, &anAck)); err != nil || a != anAck {
		t.Errorf("%v %v", a, err)
	}
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
