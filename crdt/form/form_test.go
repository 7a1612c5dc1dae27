package form

import (
	"reflect"
	"testing"
	"time"
)

type name string

func TestFormsAndWidths(t *testing.T) {
	check[string](t, String, 0)
	check[name](t, String, 0)
	check[int8](t, Int, 8)
	check[int](t, Int, 8)
	check[uint16](t, Uint, 8)
	check[bool](t, Bool, 1)
	check[[5]byte](t, Bytes, 5)
	check[[2]int](t, CBOR, 0)
	check[struct{ A int }](t, CBOR, 0)
	check[float64](t, CBOR, 0)
	check[time.Time](t, Own, 0)
}

func check[E comparable](t *testing.T, want Form, wide int) {
	t.Helper()
	of := reflect.TypeFor[E]()
	if f := Of[E](); f != want || f.Width(of) != wide {
		t.Errorf("%v: form %d of %d bytes, want %d of %d", of, f, f.Width(of), want, wide)
	}
}
