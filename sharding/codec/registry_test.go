package codec

import (
	"fmt"
	"reflect"
	"testing"
)

// encoded registers the types of messages, and encodes these.
func encoded(t testing.TB, msgs ...any) (r *Registry, types []*Type, bodies [][]byte) {
	t.Helper()
	r = NewRegistry(nil)
	for _, msg := range msgs {
		if err := r.Register(msg); err != nil {
			t.Fatal(err)
		}
		m, err := r.Of(msg)
		if err != nil {
			t.Fatal(err)
		}
		body, err := m.Append(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		types, bodies = append(types, m), append(bodies, body)
	}
	return r, types, bodies
}

// Each type is found, also where many share a place, and none in place of another.
func TestEachTypeIsFound(t *testing.T) {
	r := NewRegistry(nil)
	example := func(n int) any { return reflect.Zero(reflect.ArrayOf(n, reflect.TypeFor[byte]())).Interface() }
	for n := range 3 * quickPlaces {
		r.keep(&Type{ID: uint32(100 + n), Go: reflect.TypeOf(example(n))})
	}
	for range 2 {
		for n := range 3 * quickPlaces {
			if m, err := r.Of(example(n)); err != nil || m.ID != uint32(100+n) {
				t.Fatalf("%T: %v, %v", example(n), m, err)
			}
		}
	}
	for _, none := range []any{nil, "text", example(3 * quickPlaces)} {
		if m := r.Like(none); m != nil {
			t.Errorf("%T: %v", none, m)
		}
	}
}

// Messages of several types that take turns cost a decoder no more memory than those of one type: what is made anew
// is the message. A text of one letter takes none.
func TestDecodingTurnsIsFrugal(t *testing.T) {
	r, types, bodies := encoded(t, turnA{"a", 1}, turnB{"b", 2}, turnC{"c", nil})
	var d Decoder
	turn := func() {
		for i, m := range types {
			if got, err := d.Decode(d.TypeIn(r, m.ID), bodies[i]); err != nil || reflect.TypeOf(got) != m.Go {
				t.Fatalf("%v: %v, %v", m.Go, got, err)
			}
		}
	}
	if n := testing.AllocsPerRun(100, turn); n > float64(len(types)) {
		t.Errorf("%v allocations of %d messages in turn", n, len(types))
	}
}

// A decoder that has decoded messages of more types than it keeps makes each of its own type.
func TestDecoderOfManyTypes(t *testing.T) {
	r := NewRegistry(nil)
	var d Decoder
	var types []*Type
	for n := range 3 * decoderPlaces {
		field := reflect.StructField{Name: fmt.Sprint("N", n), Type: reflect.TypeFor[int]()}
		of := reflect.StructOf([]reflect.StructField{field})
		types = append(types, &Type{ID: uint32(100 + n/2*decoderPlaces), Go: of, plan: planOf(of)})
		types[n].ID += uint32(n % 2)
		r.keep(types[n])
	}
	for i := range 4 * len(types) {
		m := types[i%len(types)]
		msg := reflect.New(m.Go).Elem()
		msg.Field(0).SetInt(int64(i))
		body, err := m.Append(nil, msg.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if i%5 > 0 { // it need not have looked for the type itself
			m = d.TypeIn(r, m.ID)
		}
		if got, err := d.Decode(m, body); err != nil || got != msg.Interface() {
			t.Fatalf("%d: %v, %v, want %v", i, got, err, msg)
		}
	}
	if m := d.TypeIn(r, 99); m != nil {
		t.Errorf("id 99: %v", m)
	}
}

// A reply that is a struct costs no more memory than its text, and the struct that the asker has.
func TestRepliesAreFrugal(t *testing.T) {
	var reply any = turnA{"a text", 7}
	var body []byte
	var got turnA
	if n := testing.AllocsPerRun(100, func() {
		body, _ = AppendValue(nil, body[:0], reply)
		if err := DecodeInto(nil, body, &got); err != nil {
			t.Fatal(err)
		}
	}); n > 1 || got != reply {
		t.Errorf("%v allocations, %v", n, got)
	}
}

type (
	turnA struct {
		Text string
		N    int
	}
	turnB struct {
		Text string
		N    int
	}
	turnC struct {
		Text string
		None []byte // nil
	}
)

// BenchmarkDecode is what the message costs a receiver that another node has sent, of one type and of several in turn.
func BenchmarkDecode(b *testing.B) {
	for _, msgs := range [][]any{{turnA{"a text", 1}}, {turnA{"a text", 1}, turnB{"a text", 2}, turnC{"a text", nil}}} {
		b.Run(fmt.Sprint("types=", len(msgs)), func(b *testing.B) {
			r, types, bodies := encoded(b, msgs...)
			var d Decoder
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				k := i % len(msgs)
				if _, err := d.Decode(d.TypeIn(r, types[k].ID), bodies[k]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOf is what the type of a message costs many senders, of messages of one type and of several in turn.
func BenchmarkOf(b *testing.B) {
	for _, msgs := range [][]any{{turnA{}}, {turnA{}, turnB{}, turnC{}}} {
		b.Run(fmt.Sprint("types=", len(msgs)), func(b *testing.B) {
			r, _, _ := encoded(b, msgs...)
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					if _, err := r.Of(msgs[i%len(msgs)]); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkReply is what a reply that is a struct costs both sides.
func BenchmarkReply(b *testing.B) {
	var reply any = turnA{"a text", 7}
	var body []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if body, err = AppendValue(nil, body[:0], reply); err != nil {
			b.Fatal(err)
		}
		var got turnA
		if err := DecodeInto(nil, body, &got); err != nil || got != reply {
			b.Fatal(got, err)
		}
	}
}
