package replicated

import (
	"math"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// textOf is the text of an offset.
func textOf(o offset) persistence.Offset {
	text := offsetFormat
	for _, e := range o {
		text += e.text
	}
	return persistence.Offset(text)
}

func TestOffsetsAreReadAsTheyWereWritten(t *testing.T) {
	var o offset
	for _, shard := range []protocol.ShardID{7, 0, math.MaxUint32, 8} {
		i := o.of(shard)
		o[i].move(place{number: uint64(shard) << 20, seq: math.MaxUint64 - uint64(shard)})
	}
	again, err := parseOffset(textOf(o))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range again {
		if e != o[i] {
			t.Errorf("%+v, want %+v", e, o[i])
		}
		before, after := again.around(i)
		if got := persistence.Offset(before + e.text + after); got != textOf(o) {
			t.Errorf("around shard %v there is %q, in %q", e.shard, got, textOf(o))
		}
	}
}

// What is accepted is the one text of an offset.
func FuzzOffset(f *testing.F) {
	for _, text := range []string{
		"", "1", "1.7-1-2", "1.7-1-2.8-0-0", "1.8-0-0.7-0-0", "1.07-1-2", "2.7-1-2", "1.", "1.-1-2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := parseOffset(persistence.Offset(text))
		if err == nil && text != "" && string(textOf(o)) != text {
			t.Errorf("%q is read as %q", text, textOf(o))
		}
	})
}
