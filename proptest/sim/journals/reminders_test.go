package journals

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
)

// A hosting that gives two updates one number, or a later one a lower one, is complained of. Another hosting has
// numbers of its own.
func TestNumbersOfUpdates(t *testing.T) {
	complaints := 0
	k := NewReminders(Defects{}, func(string, string, ...any) { complaints++ })
	first := remindersHosting{1, singleton.FencingToken{Era: 1, Seq: 1}}
	second := remindersHosting{1, singleton.FencingToken{Era: 1, Seq: 2}}
	for _, c := range []struct {
		by     remindersHosting
		number uint64
		wrong  bool
	}{
		{first, 1, false}, {first, 3, false}, {second, 1, false}, {first, 3, true}, {second, 2, false},
		{second, 1, true},
	} {
		complaints = 0
		if k.begins(c.by, c.number); (complaints == 1) != c.wrong {
			t.Errorf("%d complaints of number %d of %v", complaints, c.number, c.by)
		}
	}
}
