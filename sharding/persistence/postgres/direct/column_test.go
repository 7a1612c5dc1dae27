package direct_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/coterie-go/coterie/sharding/persistence/postgres/direct"
)

// driver is how the driver encodes an array.
func driver(t *testing.T, oid uint32, v any) []byte {
	t.Helper()
	b, err := pgtype.NewMap().Encode(oid, pgtype.BinaryFormatCode, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func same(t *testing.T, c *direct.Column, v any) {
	t.Helper()
	if got, want := c.Argument(), driver(t, c.Type(), v); !bytes.Equal(got, want) {
		t.Errorf("%T %v is\n%s, want\n%s", v, v, hex.EncodeToString(got), hex.EncodeToString(want))
	}
}

// A column is what the driver makes of the same elements, whatever was in it before.
func FuzzColumn(f *testing.F) {
	f.Add([]byte(nil), byte(0))
	f.Add([]byte("some bytes, of which parts are elements"), byte(3))
	f.Add([]byte{0x80, 0xff, 0, 1}, byte(7))
	c2, c4, c8 := direct.Of(pgtype.Int2OID), direct.Of(pgtype.Int4OID), direct.Of(pgtype.Int8OID)
	text := direct.Of(pgtype.ByteaOID)
	f.Fuzz(func(t *testing.T, b []byte, step byte) {
		for _, c := range []*direct.Column{&c2, &c4, &c8, &text} {
			c.Reset()
		}
		want2, want4, want8, wantText := []int16{}, []int32{}, []int64{}, [][]byte{}
		for i := 0; i < len(b); i += 1 + int(step%8) {
			v := int64(int8(b[i])) << (b[i] % 56)
			element := b[i:min(len(b), i+int(b[i]%5))]
			if b[i]%7 == 0 {
				element = nil
			}
			c2.Int2(int16(v))
			c4.Int4(int32(v))
			c8.Int8(v)
			text.Bytes(element)
			want2, want4, want8 = append(want2, int16(v)), append(want4, int32(v)), append(want8, v)
			wantText = append(wantText, element)
		}
		same(t, &c2, want2)
		same(t, &c4, want4)
		same(t, &c8, want8)
		same(t, &text, wantText)
		if n := int(text.Len()); n != len(wantText) {
			t.Errorf("%d elements, want %d", n, len(wantText))
		}
	})
}

// Scalars are what the driver makes of them.
func TestScalars(t *testing.T) {
	for _, v := range []int32{0, -1, 1 << 30} {
		if got, want := direct.Int4(v), driver(t, pgtype.Int4OID, v); !bytes.Equal(got, want) {
			t.Errorf("%d is %x, want %x", v, got, want)
		}
	}
	for _, v := range []bool{false, true} {
		if got, want := direct.Bool(v), driver(t, pgtype.BoolOID, v); !bytes.Equal(got, want) {
			t.Errorf("%v is %x, want %x", v, got, want)
		}
	}
}
