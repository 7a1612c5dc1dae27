package incarnation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
)

// Tags are sorted, each once. What the user's function has returned stays as it is: it may be shared.
func TestTags(t *testing.T) {
	named := []string{"b", "a", "b"}
	got, err := Tags(named)
	if err != nil || !slices.Equal(got, []string{"a", "b"}) || !slices.Equal(named, []string{"b", "a", "b"}) {
		t.Error(got, err, named)
	}
	var many []string
	for i := range persistence.TagsMax {
		many = append(many, fmt.Sprint(i))
	}
	for _, c := range []struct {
		named []string
		fits  bool
	}{
		{nil, true}, {many, true}, {append(many, "0"), true}, {append(many, "x"), false}, {[]string{""}, false},
		{[]string{strings.Repeat("x", persistence.NameMax)}, true},
		{[]string{strings.Repeat("x", persistence.NameMax+1)}, false},
	} {
		if _, err := Tags(c.named); (err == nil) != c.fits || !c.fits && !errors.Is(err, persistence.ErrTooLarge) {
			t.Errorf("%.99q: %v", c.named, err)
		}
	}
}
