package sharding

import (
	"bytes"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
)

// fenceOn runs a cluster of one node on a directory, and returns the token of a hosting.
func fenceOn(t *testing.T, dir string) FencingToken {
	t.Helper()
	n := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) { c.Roles, c.Dir = []string{"backend"}, dir })[0]
	defer n.Close()
	type fence struct {
		token FencingToken
		err   error
	}
	fences := make(chan fence, 1)
	typ := cartType(&cartLog{})
	typ.New = func(c *Context[message_]) Entity[message_] {
		token, err := c.Fence()
		fences <- fence{token, err}
		return &cart{log: &cartLog{}}
	}
	g, err := Start(n, typ)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(within(t, ddatatest.Patience), g.Ref("a"), total{}); err != nil {
		t.Fatal(err)
	}
	f := <-fences
	if f.err != nil {
		t.Fatal(f.err)
	}
	return f.token
}

// TestFencesRiseWhenDirectoriesAreLost: a store that has seen the tokens of a cluster takes those
// of the next one, whether that goes on from the directories or has lost them, though its epochs
// begin again then.
func TestFencesRiseWhenDirectoriesAreLost(t *testing.T) {
	dir := t.TempDir()
	first, kept, lost := fenceOn(t, dir), fenceOn(t, dir), fenceOn(t, t.TempDir())
	t.Log(first, kept, lost)
	if kept.Era != first.Era {
		t.Errorf("the directories are there, and the era went from %d to %d", first.Era, kept.Era)
	}
	if lost.Epoch >= kept.Epoch {
		t.Errorf("without directories the epochs go on: %v after %v", lost, kept)
	}
	for _, pair := range [][2]FencingToken{{first, kept}, {kept, lost}} {
		if !pair[0].Less(pair[1]) || bytes.Compare(pair[0].Bytes(), pair[1].Bytes()) >= 0 {
			t.Errorf("token %v after %v", pair[1], pair[0])
		}
	}
}
