package format

import (
	"errors"
	"strings"
	"testing"
)

func TestCommon(t *testing.T) {
	for _, c := range []struct {
		a, b Range
		want Level
	}{
		{Range{Min: 1, Max: 1}, Range{Min: 1, Max: 1}, 1},
		{Range{Min: 1, Max: 2}, Range{Min: 1, Max: 1}, 1},
		{Range{Min: 1, Max: 3}, Range{Min: 2, Max: 4}, 3},
		{Range{Min: 1, Max: 9}, Range{Min: 4, Max: 5}, 5},
		{Range{Min: 1, Max: 1}, Range{Min: 2, Max: 2}, 0},
		{Range{Min: 3, Max: 4}, Range{Min: 1, Max: 2}, 0},
	} {
		if got, back := Common(c.a, c.b), Common(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%v and %v: %d and %d, not %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for _, bad := range []Range{{}, {Min: 1}, {Max: 1}, {Min: 2, Max: 1}} {
		if bad.Check() == nil {
			t.Errorf("%+v is taken for a range", bad)
		}
	}
	r := Range{Min: 2, Max: 3}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	for l, want := range map[Level]bool{1: false, 2: true, 3: true, 4: false} {
		err := r.Speaks("the record", l)
		if (err == nil) != want || err != nil && !errors.Is(err, ErrUnspoken) {
			t.Errorf("level %d: %v", l, err)
		}
	}
	if text := r.Speaks("the record", 4).Error(); !strings.Contains(text, "the record has format level 4") ||
		!strings.Contains(text, "levels 2 to 3") {
		t.Error(text)
	}
}

// A build speaks what it says, and one that rehearses a later level speaks that too.
func TestBuild(t *testing.T) {
	if got := Build(); got != (Range{Min: Oldest, Max: Newest}) || got.Check() != nil {
		t.Errorf("%v", got)
	}
	defer func() { rehearsed = "" }()
	rehearsed = "7"
	if got := Build(); got != (Range{Min: Oldest, Max: 7}) {
		t.Errorf("%v", got)
	}
}
