package sequence

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// handled judges a message with number 1, sent at 10, that comes after number 2.
func handled(t *testing.T, j *Judge, s Shard) bool {
	t.Helper()
	k := Stream{From: 1, Type: s.Type, Entity: "a"}
	if last, ok := j.Handle(k, s, 2, 11); last != 0 || !ok {
		t.Fatalf("the first message: after %d, %v", last, ok)
	}
	last, late := j.Handle(k, s, 1, 10)
	if last != 2 {
		t.Errorf("the late message is after %d, want 2", last)
	}
	if last, ok := j.Handle(k, s, 3, 12); last != 2 || !ok {
		t.Errorf("a message after that: after %d, %v", last, ok)
	}
	return late
}

func TestOrder(t *testing.T) {
	s := Shard{Number: 1}
	for name, c := range map[string]struct {
		cause int64 // 0: none
		of    Shard
		want  bool
	}{
		"no cause":         {want: false},
		"before the send":  {cause: 9, of: s, want: false},
		"at the send":      {cause: 10, of: s, want: true},
		"under way":        {cause: 15, of: s, want: true},
		"to another shard": {cause: 15, of: Shard{Number: 2}, want: false},
		"to another type":  {cause: 15, of: Shard{Type: 1, Number: 1}, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			for why := range Causes {
				var j Judge
				if c.cause > 0 {
					j.breaks(c.of, why, protocol.Token{}, c.cause)
				}
				if ok := handled(t, &j, s); ok != c.want {
					t.Errorf("cause %d: %v, want %v", why, ok, c.want)
				}
				if want := map[bool]uint64{true: 1}[c.want]; j.Excused[why] != want {
					t.Errorf("cause %d: %d excused, want %d", why, j.Excused[why], want)
				}
			}
		})
	}
}

// Streams share nothing.
func TestStreamsAreApart(t *testing.T) {
	var j Judge
	s := Shard{}
	for _, k := range []Stream{{From: 1}, {From: 2}, {Type: 1}, {Entity: "a"}} {
		if last, ok := j.Handle(k, s, 5, 1); last != 0 || !ok {
			t.Errorf("%+v: after %d, %v", k, last, ok)
		}
		if last, ok := j.Handle(k, s, 5, 1); last != 5 || ok {
			t.Errorf("%+v again: after %d, %v", k, last, ok)
		}
	}
}
