package console

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// A view tells what has retired, what does now, and how many incarnations have come.
func TestViewsTellWhatRetires(t *testing.T) {
	over, next := view.Retirement{Below: 0xf00001 << 40}, view.Retirement{Below: 0xf00002 << 40, Spared: []view.UID{1}}
	for _, c := range []struct {
		ages *view.Ages
		want api.Retirement
	}{
		{&view.Ages{Came: 3}, api.Retirement{Came: 3}},
		{&view.Ages{Ended: over, AgreedIn: 7}, api.Retirement{Ended: "below f00001 but 0", Since: 7}},
		{&view.Ages{Ending: next}, api.Retirement{Ending: "below f00002 but 1"}},
	} {
		if x := viewOf(&view.View{Ages: c.ages}); x.Retirement == nil || *x.Retirement != c.want {
			t.Errorf("%+v, want %+v", x.Retirement, c.want)
		}
	}
	if x := viewOf(&view.View{}); x.Retirement != nil {
		t.Errorf("%+v, and the format level has none", x.Retirement)
	}
}
