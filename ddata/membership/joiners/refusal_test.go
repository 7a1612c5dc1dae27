package joiners

import (
	"fmt"
	"testing"
	"time"
)

// A node that is refused each time that it asks is told of once a minute. Nodes that make addresses
// up do not fill the log.
func TestRefusalsAreToldOnce(t *testing.T) {
	j, now := NewTable(Config{}), time.Unix(1000, 0)
	said := 0
	for range 100 {
		if j.MayTell(now, "a:1", "config") {
			said++
		}
		now = now.Add(time.Second)
	}
	if said != 2 {
		t.Errorf("told %d times in 100 s", said)
	}
	if !j.MayTell(now, "a:1", "name") {
		t.Error("another reason was not told")
	}
	said = 0
	for i := range 4 * toldMax {
		if j.MayTell(now, fmt.Sprint(i), "config") {
			said++
		}
	}
	if said > toldMax || said < toldMax-2 || len(j.told) > toldMax {
		t.Errorf("told of %d addresses, %d are remembered", said, len(j.told))
	}
	if now = now.Add(tellAgain); !j.MayTell(now, "b:1", "config") {
		t.Error("after a minute nothing was told")
	}
}
