package story_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/coterie-go/coterie/ddata/tracing/story"
)

// What happened becomes lines, and lines become records.
func Example() {
	log := story.NewLog(0)
	log.Record(story.Record{Time: 1e9, Kind: story.Sent, Node: "n1", Peer: "n2", Message: "7", Type: "Cart", ID: "c1"})
	log.Record(story.Record{Time: 2e9, Kind: story.Fault, Node: "n2", Text: "the disk is full"})
	if err := story.Write(os.Stdout, log.Records()); err != nil {
		fmt.Println(err)
	}
	for r, err := range story.Read(strings.NewReader(`{"t":3000000000,"kind":"lost","node":"n1","msg":"7"}` + "\n")) {
		fmt.Println(r.Time, r.Kind, r.Node, err)
	}
	// Output:
	// {"t":1000000000,"kind":"sent","node":"n1","peer":"n2","msg":"7","type":"Cart","id":"c1"}
	// {"t":2000000000,"kind":"fault","node":"n2","text":"the disk is full"}
	// 3000000000 lost n1 <nil>
}
