package codec

import (
	"fmt"
	"reflect"
	"testing"
)

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

type (
	benchA struct{ N int }
	benchB struct{ N int }
	benchC struct{ N int }
)

// BenchmarkOf is what the type of a message costs many senders, of messages of one type and of several in turn.
func BenchmarkOf(b *testing.B) {
	for _, msgs := range [][]any{{benchA{}}, {benchA{}, benchB{}, benchC{}}} {
		b.Run(fmt.Sprint("types=", len(msgs)), func(b *testing.B) {
			r := NewRegistry(nil)
			for _, msg := range msgs {
				if err := r.Register(msg); err != nil {
					b.Fatal(err)
				}
			}
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
