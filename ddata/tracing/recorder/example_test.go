package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/tracing/recorder"
	"github.com/coterie-go/coterie/ddata/tracing/story"
)

// A node tells its story: that it started, became a member, and ended.
func Example() {
	var out bytes.Buffer // in a service, a recorder.File
	rec := recorder.New(recorder.Config{Node: "n1", Out: &out})
	node, err := ddata.Start(context.Background(), ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler), Tracer: rec, OnEvent: rec.Event,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(node.Leave(context.Background()), rec.Close())
	kinds := map[story.Kind]int{}
	for r, err := range story.Read(&out) {
		if err != nil {
			fmt.Println(err)
		}
		kinds[r.Kind]++
	}
	fmt.Println(kinds[story.Started], kinds[story.Ended], kinds[story.Note] > 1, rec.Dropped())
	// Output:
	// <nil> <nil>
	// 1 1 true 0
}
