package kubernetes

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// Under what names objects are, and what is in them, is a promise to nodes of other builds that share the store: under
// two names one lease would have two holders.
func TestGoldenObjects(t *testing.T) {
	s := &Store{prefix: "coterie"}
	names := []string{"", "shards/Cart/7", "Ünïcode", strings.Repeat("long", 100)}
	objects := make([]string, len(names))
	for i, n := range names {
		objects[i] = s.object(n)
	}
	annotations := []string{nameAnnotation, triedAnnotation, touchedAnnotation, fenceAnnotation, sumAnnotation}
	golden.Formats(t, []golden.Sample{
		{Name: "objects", Bytes: []byte(strings.Join(objects, "\n"))},
		{Name: "annotations", Bytes: []byte(strings.Join(annotations, "\n"))},
		{Name: "store", Bytes: []byte(storeName)},
		{Name: "record", Bytes: []byte(recordKey + " " + sumOf([]byte("record")))},
	})
}

// A holderIdentity names the holder, also to builds that write it in another way.
func TestIdentitiesNameOwners(t *testing.T) {
	if got := ownerOf("node_1, process 7 on host_0123456789abcdef"); got != "node_1, process 7 on host" {
		t.Errorf("the owner is %q", got)
	}
	host, _ := os.Hostname()
	written := identityOf("node_1")
	if got, want := ownerOf(written), fmt.Sprintf("node_1, process %d on %s", os.Getpid(), host); got != want {
		t.Errorf("%q names %q, want %q", written, got, want)
	}
}
