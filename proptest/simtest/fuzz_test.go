package simtest

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Whatever a fuzzer makes is enough to draw a trial from, and what differs at the beginning differs to the end.
func TestEveryInputDraws(t *testing.T) {
	const draws = 5_000
	played := 0
	var ends [][]byte
	for n := range 20 {
		input := bytes.Repeat([]byte{byte(n)}, n)
		all := drawable(input)
		for _, end := range ends {
			if bytes.HasSuffix(all, end) {
				t.Errorf("an input of %d bytes draws what another one does", n)
			}
		}
		ends = append(ends, all[len(all)-64:])
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			rapid.MakeFuzz(func(r *rapid.T) {
				for range draws {
					rapid.Uint64().Draw(r, "number")
				}
				played++
			})(t, all)
		})
	}
	if played != 20 {
		t.Errorf("%d of 20 inputs drew %d numbers each", played, draws)
	}
}
