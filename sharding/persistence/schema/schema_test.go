package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

type event interface{ event() }

type (
	opened      struct{ Owner string }
	depositedV1 struct{ Dollars int }
	depositedV2 struct{ Cents int }
	deposited   struct {
		Cents    int
		Currency string
	}
	broken  struct{ Hook chan int }
	pointed struct{ N int }
	alien   struct{}
)

func (opened) event()    {}
func (deposited) event() {}
func (broken) event()    {}
func (*pointed) event()  {}
func (alien) event()     {}

func toCents(v depositedV1) (depositedV2, error) {
	switch {
	case v.Dollars < 0:
		return depositedV2{}, errors.New("negative")
	case v.Dollars == 0:
		panic("nothing")
	}
	return depositedV2{v.Dollars * 100}, nil
}

func withCurrency(v depositedV2) (deposited, error) { return deposited{v.Cents, "USD"}, nil }

func present() schema.Schema[event] {
	return schema.CBOR(
		schema.Type[event]("opened", opened{}),
		schema.Type[event]("deposited", deposited{}, schema.From(toCents), schema.From(withCurrency)),
		schema.Type[event]("broken", broken{}), schema.Type[event]("pointed", &pointed{}),
	)
}

func stored[T any](t *testing.T, v T, name string, version uint32) schema.Stored {
	t.Helper()
	x, err := schema.CBOR(schema.Type[any](name, any(v))).Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	x.Version = version
	return x
}

// What is stored is read again, whatever its type and its version.
func TestDecode(t *testing.T) {
	s := present()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, v := range []event{opened{"a"}, deposited{5, "EUR"}} {
		x, err := s.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Decode(x); err != nil || got != v {
			t.Errorf("%v, %v, want %v", got, err, v)
		}
	}
	x, err := s.Encode(&pointed{7})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Decode(x); err != nil || got.(*pointed).N != 7 {
		t.Error(got, err)
	}
	for _, x := range []schema.Stored{
		stored(t, depositedV1{3}, "deposited", 1), stored(t, depositedV2{300}, "deposited", 2),
		stored(t, deposited{300, "USD"}, "deposited", 3),
	} {
		if got, err := s.Decode(x); err != nil || got != (deposited{300, "USD"}) {
			t.Errorf("version %d: %v, %v", x.Version, got, err)
		}
	}
}

// What cannot be stored or read says why.
func TestErrors(t *testing.T) {
	s := present()
	for _, c := range []struct {
		x    schema.Stored
		want error
	}{
		{stored(t, opened{}, "closed", 1), schema.ErrUnknown},
		{stored(t, opened{}, "opened", 2), schema.ErrNewer},
		{stored(t, opened{}, "opened", 0), schema.ErrDecoding},
		{stored(t, "text", "opened", 1), schema.ErrDecoding},
		{schema.Stored{Name: "opened", Version: 1}, schema.ErrDecoding},
		{stored(t, depositedV1{-1}, "deposited", 1), schema.ErrUpcast},
		{stored(t, depositedV1{0}, "deposited", 1), schema.ErrUpcast},
	} {
		if _, err := s.Decode(c.x); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.x.Name) {
			t.Errorf("%v: %v, want %v", c.x, err, c.want)
		}
	}
	_, err := s.Decode(stored(t, depositedV1{0}, "deposited", 1))
	if _, is := errors.AsType[*sharding.PanicError](err); !is {
		t.Errorf("a panic is %v", err)
	}
	_, err = s.Decode(stored(t, depositedV1{-1}, "deposited", 1))
	if !strings.Contains(fmt.Sprint(err), "from version 1: ") {
		t.Error("the version is not named:", err)
	}
	if _, err := s.Encode(alien{}); !errors.Is(err, schema.ErrUnlisted) {
		t.Error(err)
	}
	if _, err := s.Encode(nil); !errors.Is(err, schema.ErrUnlisted) {
		t.Error(err)
	}
	if _, err := s.Encode(broken{}); !errors.Is(err, schema.ErrEncoding) {
		t.Error(err)
	}
}

// own encodes and decodes itself, and panics at what it cannot take.
type own struct{ n int }

func (o *own) MarshalCBOR() ([]byte, error) {
	if o.n > 23 {
		panic("too large")
	}
	return []byte{byte(o.n)}, nil
}

func (o *own) UnmarshalCBOR(b []byte) error {
	if b[0] > 9 {
		panic("no digit")
	}
	o.n = int(b[0])
	return nil
}

type owner struct{ Own own }

// A type may bring its own code. If that panics, the value cannot be stored or read.
func TestTypesThatEncodeThemselves(t *testing.T) {
	s := schema.CBOR(schema.Type[any]("owner", &owner{}))
	if err := s.Validate(); err != nil {
		t.Fatal("what a type keeps to itself is taken for lost:", err)
	}
	x, err := s.Encode(&owner{own{7}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Decode(x); err != nil || v.(*owner).Own.n != 7 {
		t.Error(v, err)
	}
	if _, err := s.Encode(&owner{own{24}}); !errors.Is(err, schema.ErrEncoding) || !panicked(err) {
		t.Error(err)
	}
	if x, err = s.Encode(&owner{own{10}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decode(x); !errors.Is(err, schema.ErrDecoding) || !panicked(err) {
		t.Error(err)
	}
}

func panicked(err error) bool {
	_, is := errors.AsType[*sharding.PanicError](err)
	return is
}

// All faults of a schema are reported together.
func TestValidate(t *testing.T) {
	if err := (schema.Schema[event]{}).Validate(); !errors.Is(err, schema.ErrInvalid) {
		t.Error(err)
	}
	if err := schema.CBOR[event]().Validate(); !errors.Is(err, schema.ErrInvalid) {
		t.Error(err)
	}
	err := schema.CBOR(
		schema.Type[event]("", opened{}),
		schema.Type[event]("twice", deposited{}, schema.From(withCurrency), schema.From(toCents)),
		schema.Type[event]("twice", nil),
		schema.Type[event]("again", opened{}, schema.Upcast{}),
		schema.Type[event](strings.Repeat("x", 256), broken{}),
	).Validate()
	for _, want := range []string{
		"0 bytes", "makes schema_test.deposited of version 1, want schema_test.depositedV1",
		"makes schema_test.depositedV2 of version 2, want schema_test.deposited", "stands for two types",
		"is nil and has no concrete type", "has two names", "make it by From", "256 bytes",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

type (
	lost   struct{ Inner map[string][]*inner }
	inner  struct{ n int }
	chosen struct {
		_    struct{} `cbor:",toarray"`
		N    int
		n    int `cbor:"-"`
		At   time.Time
		Next *chosen
	}
)

// A field that would be lost silently is a fault of the schema.
func TestHiddenFields(t *testing.T) {
	err := schema.CBOR(schema.Type[any]("lost", lost{})).Validate()
	if !errors.Is(err, schema.ErrInvalid) || !strings.Contains(err.Error(), "has the field Inner.n, ") {
		t.Error(err, inner{}.n)
	}
	if err := schema.CBOR(schema.Type[any]("chosen", chosen{n: 1})).Validate(); err != nil {
		t.Error(err, chosen{}.n)
	}
}
