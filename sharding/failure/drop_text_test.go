package failure

import (
	"fmt"
	"strings"
	"testing"
)

// A lost message that was never decoded has no type: nothing is said of it.
func TestTextOfDrops(t *testing.T) {
	for _, d := range []Drop{{Type: "cart", ID: "a", Shard: 3}, {Type: "cart", Shard: NoShard, Message: 7}} {
		for _, text := range []string{d.String(), fmt.Sprint(d.Line())} {
			if strings.Contains(text, "nil") || strings.Contains(text, "int") != (d.Message != nil) {
				t.Error(text)
			}
		}
	}
}
