package sharding

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type renamed struct{ A int }

func (renamed) command()            {}
func (renamed) MessageName() string { return "cart.renamed" }

type clash struct{ A int }

func (clash) command()            {}
func (clash) MessageName() string { return "cart.renamed" }

type timed struct {
	At time.Time
	M  map[string]float64
}

func (timed) command() {}

// selfMade encodes itself.
type selfMade struct{ N byte }

func (selfMade) command() {}
func (s selfMade) AppendCBOR(dst []byte) ([]byte, error) {
	if s.N > 20 {
		return dst, errors.New("too large")
	}
	return append(dst, s.N), nil
}
func (s *selfMade) UnmarshalCBOR(b []byte) error {
	s.N = b[0]
	return nil
}

func TestCodecRoundTrip(t *testing.T) {
	c := CBOR[message_](addItem{}, &leaveNow{}, renamed{}, timed{}, selfMade{}, echo{})
	if c.err != nil {
		t.Fatal(c.err)
	}
	for _, m := range []message_{
		addItem{"apple", -3}, &leaveNow{}, renamed{7}, selfMade{9}, echo{Text: "x"},
		timed{time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), map[string]float64{"a": 0.5, "b": -1}},
	} {
		mt, err := c.reg.Of(m)
		if err != nil {
			t.Fatal(err)
		}
		b, err := mt.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := mt.Decode(b)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%#v came back as %#v, %v", m, got, err)
		}
	}
}

func TestCodecFaults(t *testing.T) {
	for want, c := range map[string]Codec[message_]{
		"no example":     CBOR[message_](),
		"nil":            CBOR[message_](addItem{}, nil),
		"share the wire": CBOR[message_](renamed{}, clash{}),
	} {
		typ := cartType(&cartLog{})
		typ.Messages = c
		err := typ.Validate()
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	_, err := testMessages().reg.Of(unknown{})
	if !errors.Is(err, ErrUnregisteredMessage) || !strings.Contains(err.Error(), "sharding.unknown") ||
		!strings.Contains(err.Error(), "sharding.CBOR") {
		t.Errorf("the error does not name the type and the remedy: %v", err)
	}
}

func TestValidateReportsAllFaults(t *testing.T) {
	err := EntityType[message_]{Identity: Identity{Name: "a/b", Shards: -1}, Limits: Limits{MailboxMax: -1}}.Validate()
	for _, want := range []string{"contains '/'", "Role", "Shards", "Messages", "MailboxMax"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

// The wire id of a name never changes.
func TestWireIDs(t *testing.T) {
	c := CBOR[message_](renamed{}, addItem{})
	for name, id := range map[string]uint32{
		"cart.renamed": 0x6fc4273b, "github.com/coterie-go/coterie/sharding.addItem": 0xa14ffcd8,
	} {
		m := c.reg.WithID(id)
		if m == nil || m.Name != name {
			t.Fatalf("%s is not %#08x", name, id)
		}
	}
}
