package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/tracing/recorder"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
	"github.com/coterie-go/coterie/sharding"
)

// count is a question to a cart.
type count struct{ sharding.Returns[any, int] }

func cartType(rec *recorder.Recorder) sharding.EntityType[any] {
	return sharding.EntityType[any]{
		Identity: sharding.Identity{Name: "Cart", Role: "shop", Shards: 16}, Messages: sharding.CBOR[any](count{}),
		New: func(*sharding.Context[any]) sharding.Entity[any] { return cart{} }, OnEvent: rec.TypeEvent,
	}
}

type cart struct{}

func (cart) Receive(c *sharding.Context[any], _ any) error { return c.Reply(1) }

// live is a cluster that records itself.
type live struct {
	t       *testing.T
	dir     string
	names   []string
	recs    []*recorder.Recorder
	files   []*recorder.File
	nodes   []*ddata.Node
	regions []*sharding.Region[any]
}

func startLive(t *testing.T, n int) *live {
	l := &live{t: t, dir: t.TempDir()}
	for i := range n {
		l.names = append(l.names, fmt.Sprint("node-", i))
		f, err := recorder.Create(filepath.Join(l.dir, l.names[i]), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		l.files = append(l.files, f)
		l.recs = append(l.recs, recorder.New(recorder.Config{Node: l.names[i], Out: f}))
	}
	l.nodes = ddatatest.StartWith(t, n, func(i int, c *ddata.Config) {
		c.Roles, c.Tracer, c.OnEvent = []string{"shop"}, l.recs[i], l.recs[i].Event
	})
	for i, node := range l.nodes {
		region, err := sharding.Start(node, cartType(l.recs[i]))
		if err != nil {
			t.Fatal(err)
		}
		l.regions = append(l.regions, region)
	}
	return l
}

// end ends the cluster, and returns the story of each node.
func (l *live) end() (stories [][]story.Record) {
	for i, n := range slices.Backward(l.nodes) {
		_ = n.Close()
		if err := l.recs[i].Close(); err != nil || l.files[i].Close() != nil {
			l.t.Fatal(err)
		}
	}
	for _, name := range l.names {
		b, err := os.ReadFile(filepath.Join(l.dir, name))
		if err != nil {
			l.t.Fatal(err)
		}
		var told []story.Record
		for r, err := range story.Read(bytes.NewReader(b)) {
			if err != nil {
				l.t.Fatal(err)
			}
			told = append(told, r)
		}
		stories = append(stories, told)
	}
	return stories
}

// awayFrom is a cart that does not live on a node.
func (l *live) awayFrom(ctx context.Context, node int) string {
	for i := range 1000 {
		id := fmt.Sprint("cart-", i)
		if loc, err := l.regions[node].StartEntity(ctx, id); err != nil {
			l.t.Fatal(err)
		} else if loc.Node != l.nodes[node].UID() {
			return id
		}
	}
	l.t.Fatal("every cart lives there")
	return ""
}

// The stories of three real nodes become one: a question goes to another node and its answer comes back, a
// key is written, and a node dies.
func TestLiveCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), ddatatest.Patience)
	defer cancel()
	l := startLive(t, 3)
	id := l.awayFrom(ctx, 0)
	if got, err := sharding.Ask(ctx, l.regions[0].Ref(id), count{}); got != 1 || err != nil {
		t.Fatal(got, err)
	}
	hits := ddata.NewKey[crdt.GCounter]("hits")
	data, err := l.nodes[0].Replicator("shop")
	if err != nil {
		t.Fatal(err)
	}
	increment := func(c *crdt.GCounterTx) error { return c.Increment(1) }
	if err := ddata.Update(ctx, data, hits, ddata.WriteMajority, increment); err != nil {
		t.Fatal(err)
	}
	all := story.Merge(l.end()...)
	find := func(what string, is func(story.Record) bool) int {
		i := slices.IndexFunc(all, is)
		if i < 0 {
			t.Fatalf("no %s in %d records", what, len(all))
		}
		return i
	}
	about := func(kind story.Kind) func(story.Record) bool {
		return func(r story.Record) bool { return r.Kind == kind && r.Type == "Cart" && r.ID == id }
	}
	asked := find("question", about(story.Sent))
	message := all[asked].Message
	arrived := find("arrival", func(r story.Record) bool { return r.Kind == story.Received && r.Message == message })
	answer := message + "/answer"
	left := find("answer", func(r story.Record) bool { return r.Kind == story.Sent && r.Message == answer })
	back := find("its arrival", func(r story.Record) bool { return r.Kind == story.Received && r.Message == answer })
	if !slices.IsSorted([]int{asked, arrived, left, back}) || all[asked].Node != "node-0" ||
		all[arrived].Peer != "node-0" || all[arrived].Node == "node-0" || all[left].Node != all[arrived].Node ||
		all[back].Node != "node-0" {
		t.Errorf("%+v\n%+v\n%+v\n%+v", all[asked], all[arrived], all[left], all[back])
	}
	find("key", func(r story.Record) bool { return slices.Equal(r.Keys, []string{"hits"}) })
	for _, name := range l.names {
		find("start of "+name, func(r story.Record) bool { return r.Kind == story.Started && r.Node == name })
		find("end of "+name, func(r story.Record) bool { return r.Kind == story.Ended && r.Node == name })
	}
	if since := time.Since(time.Unix(0, all[0].Time)); since < 0 || since > time.Hour {
		t.Errorf("it began %v ago", since)
	}
	if err := (viewer.Page{Title: "live", Records: all}).Write(&bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
}
