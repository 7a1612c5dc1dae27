package singleton

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to stores outside of the cluster, which compare them.
func TestGoldenToken(t *testing.T) {
	golden.Formats(t, []golden.Sample{{
		Name: "token", Bytes: FencingToken{Era: 1 << 60, Epoch: 1 << 40, Up: 3, Seq: 5}.Bytes(),
	}})
}
