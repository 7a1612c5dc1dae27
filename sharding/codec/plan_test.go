package codec

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt/cbor"
	"pgregory.net/rapid"
)

type inner struct {
	A uint16
	B string
}

// Returns is as sharding.Returns: it has no size and nothing of it travels.
type Returns struct{}

type mapped struct {
	Returns
	Yes    bool
	Text   string
	Data   []byte
	I      int
	I8     int8
	I16    int16
	I32    int32
	I64    int64
	U      uint
	U8     uint8
	U16    uint16
	U32    uint32
	U64    uint64
	In     inner
	Named  int `cbor:"n"`
	hidden int
	Not    int `cbor:"-"`
}

type keyed struct {
	A string `cbor:"1,keyasint"`
	B int    `cbor:"300,keyasint"`
	C []byte `cbor:"2,keyasint"`
}

type listed struct {
	_ struct{} `cbor:",toarray"`
	N int64
	S string
	K keyed
}

// A plan writes what the library writes, and reads what it reads.
func TestPlansAgreeWithTheLibrary(t *testing.T) {
	check := func(t *rapid.T, v any) {
		p := planOf(reflect.TypeOf(v))
		if p == nil {
			t.Fatalf("%T has no plan", v)
		}
		want, err := cbor.Messages.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		got := p.append(nil, v)
		if !bytes.Equal(got, want) {
			t.Fatalf("%#v\nplan    %x\nlibrary %x", v, got, want)
		}
		again, ok := p.decode(got)
		slow := reflect.New(reflect.TypeOf(v))
		if err := cbor.Messages.Decode(want, slow.Interface()); err != nil {
			if ok {
				t.Fatalf("the plan reads what the library refuses: %v", err)
			}
			return
		}
		if ok && !reflect.DeepEqual(again, slow.Elem().Interface()) {
			t.Fatalf("plan %#v, library %#v", again, slow.Elem().Interface())
		}
		if !ok {
			t.Fatalf("the plan does not read %x", got)
		}
		if reply, err := AppendValue(nil, nil, v); err != nil || !bytes.Equal(reply, want) {
			t.Fatalf("%#v: %v\nreply   %x\nlibrary %x", v, err, reply, want)
		}
		reply := reflect.New(reflect.TypeOf(v))
		if err := DecodeInto(nil, want, reply.Interface()); err != nil ||
			!reflect.DeepEqual(reply.Interface(), slow.Interface()) {
			t.Fatalf("reply %#v, %v, library %#v", reply.Elem(), err, slow.Elem())
		}
	}
	text := rapid.OneOf(rapid.String(), rapid.Just("\xff"))
	data := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Just[[]byte](nil))
	rapid.Check(t, func(t *rapid.T) {
		check(t, mapped{
			Yes: rapid.Bool().Draw(t, "yes"), Text: text.Draw(t, "text"),
			Data: data.Draw(t, "data"),
			I:    rapid.Int().Draw(t, "i"), I8: rapid.Int8().Draw(t, "i8"), I16: rapid.Int16().Draw(t, "i16"),
			I32: rapid.Int32().Draw(t, "i32"),
			I64: rapid.Int64().Draw(t, "i64"), U: rapid.Uint().Draw(t, "u"), U8: rapid.Uint8().Draw(t, "u8"),
			U16: rapid.Uint16().Draw(t, "u16"),
			U32: rapid.Uint32().Draw(t, "u32"), U64: rapid.Uint64().Draw(t, "u64"), Named: rapid.Int().Draw(t, "named"),
			In: inner{rapid.Uint16().Draw(t, "a"), rapid.String().Draw(t, "b")},
		})
		k := keyed{rapid.String().Draw(t, "ka"), rapid.Int().Draw(t, "kb"), data.Draw(t, "kc")}
		check(t, k)
		check(t, listed{N: rapid.Int64().Draw(t, "n"), S: rapid.String().Draw(t, "s"), K: k})
	})
	_ = mapped{}.hidden
}

// Bytes from elsewhere are read alike or left to the library.
func FuzzPlanDecode(f *testing.F) {
	f.Add(planOf(reflect.TypeFor[mapped]()).append(nil, mapped{Text: "x", Data: []byte{1}}))
	f.Add(planOf(reflect.TypeFor[listed]()).append(nil, listed{S: "x"}))
	types := []reflect.Type{reflect.TypeFor[mapped](), reflect.TypeFor[listed](), reflect.TypeFor[keyed]()}
	plans := make([]*plan, len(types))
	for i, t := range types {
		plans[i] = planOf(t)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for i, p := range plans {
			v, ok := p.decode(b)
			to := reflect.New(types[i]).Elem()
			if done := p.decodeTo(to, b); done != ok || !ok && !to.IsZero() ||
				ok && !reflect.DeepEqual(to.Interface(), v) {
				t.Fatalf("%x is %#v, to what is there %#v", b, v, to)
			}
			if !ok {
				continue
			}
			slow := reflect.New(types[i])
			if err := cbor.Messages.Decode(b, slow.Interface()); err != nil {
				t.Fatalf("the plan reads %x, the library: %v", b, err)
			}
			if !reflect.DeepEqual(v, slow.Elem().Interface()) {
				t.Fatalf("plan %#v, library %#v", v, slow.Elem().Interface())
			}
		}
	})
}

func TestTypesWithoutPlan(t *testing.T) {
	for _, v := range []any{
		struct{}{}, struct{ T time.Time }{}, struct{ P *int }{}, struct{ F float64 }{}, struct{ M map[string]int }{},
		struct {
			A int `json:"a"`
		}{},
		struct {
			A int `cbor:"a,omitempty"`
		}{},
		struct{ inner }{},
	} {
		if planOf(reflect.TypeOf(v)) != nil {
			t.Errorf("%T has a plan", v)
		}
	}
}
