package viewer_test

import (
	"bytes"
	"fmt"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
)

// A story becomes a page, to be written to a file.
func Example() {
	log := story.NewLog(0)
	log.Record(story.Record{Time: 1e6, Kind: story.Sent, Node: "n1", Peer: "n2", Message: "1", Text: "add milk"})
	log.Record(story.Record{Time: 3e6, Kind: story.Received, Node: "n2", Peer: "n1", Message: "1", Text: "add milk"})
	log.Record(story.Record{Time: 4e6, Kind: story.Violation, Text: "handled once: c1 has handled it twice"})
	var file bytes.Buffer
	err := viewer.Page{Title: "seed 17", Replay: "go test -run Cart", Records: log.Records()}.Write(&file)
	fmt.Println(err, bytes.HasPrefix(file.Bytes(), []byte("<!doctype html>")))
	// Output: <nil> true
}
