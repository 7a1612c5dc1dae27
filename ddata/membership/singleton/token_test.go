package singleton

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// anyToken draws tokens that often agree in their first fields.
func anyToken(r *rapid.T, label string) FencingToken {
	number := rapid.OneOf(rapid.Uint64Range(0, 2), rapid.SampledFrom([]uint64{
		255, 256, 1 << 31, 1<<32 - 1, 1 << 63, 1<<64 - 1,
	}), rapid.Uint64())
	return FencingToken{
		Era:   view.Era(number.Draw(r, label+" era")),
		Epoch: view.Epoch(number.Draw(r, label+" epoch")),
		Up:    uint32(number.Draw(r, label+" up")),
		Seq:   number.Draw(r, label+" seq"),
	}
}

// TestTokenBytesSortAsTokens: the bytes, and their hexadecimal form, have the order of Compare.
func TestTokenBytesSortAsTokens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := anyToken(r, "a"), anyToken(r, "b")
		want := a.Compare(b)
		if got := bytes.Compare(a.Bytes(), b.Bytes()); got != want {
			r.Errorf("%v to %v: bytes compare to %d, tokens to %d", a, b, got, want)
		}
		if got := strings.Compare(hex.EncodeToString(a.Bytes()), hex.EncodeToString(b.Bytes())); got != want {
			r.Errorf("%v to %v: texts compare to %d, tokens to %d", a, b, got, want)
		}
		if len(a.Bytes()) != TokenSize || b.Compare(a) != -want || a.Less(b) != (want < 0) || (a == b) != (want == 0) {
			r.Errorf("%v and %v: %d bytes, order %d", a, b, len(a.Bytes()), want)
		}
	})
}

// TestTokenOrder: an earlier field outweighs all later ones, and the zero token is lowest.
func TestTokenOrder(t *testing.T) {
	const most = 1<<64 - 1
	tokens := []FencingToken{
		{}, {Seq: 1}, {Up: 1}, {Up: 1, Seq: most}, {Epoch: 1}, {Epoch: 1, Up: 1<<32 - 1, Seq: most}, {Era: 1},
		{Era: 1, Epoch: most}, {Era: 2},
	}
	for i, a := range tokens {
		for j, b := range tokens {
			if a.Less(b) != (i < j) {
				t.Errorf("%v below %v: %t", a, b, a.Less(b))
			}
		}
		if a.IsZero() != (i == 0) {
			t.Errorf("%v is zero: %t", a, a.IsZero())
		}
	}
	if got := (FencingToken{Era: 1, Epoch: 2, Up: 3, Seq: 4}).String(); got != "1.2.3.4" {
		t.Error("printed as", got)
	}
}
