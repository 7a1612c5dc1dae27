package eventstest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
)

var row = regexp.MustCompile(`(?m)^(coterie_\w+)(\{[\w,]+\}) +(gauge:|histogram:)?`)

// CheckTable compares the table of metrics in design.md of the package under test with all that
// was reported to its meters under their prefix: names, labels and kinds.
func CheckTable(t testing.TB, meters ...*Meter) {
	t.Helper()
	src, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range compare(string(src), meters) {
		t.Error(fault)
	}
}

func compare(doc string, meters []*Meter) (faults []string) {
	var listed, reported []string
	for _, m := range row.FindAllStringSubmatch(doc, -1) {
		listed = append(listed, m[1]+m[2]+m[3])
	}
	kinds := map[events.Kind]string{events.Gauge: "gauge:", events.Histogram: "histogram:"}
	for _, m := range meters {
		m.mu.Lock()
		for x := range m.metrics { // order: sorted below
			if !strings.HasPrefix(x.Name, m.prefix) {
				continue
			}
			reported = append(reported, fmt.Sprintf("%s{%s}%s", x.Name, strings.Join(x.Labels, ","), kinds[x.Kind]))
			if x.Help == "" {
				faults = append(faults, x.Name+" has no help")
			}
		}
		m.mu.Unlock()
	}
	slices.Sort(listed)
	slices.Sort(reported)
	if reported = slices.Compact(reported); !slices.Equal(listed, reported) {
		faults = append(faults, fmt.Sprintf("listed:\n%s\nreported:\n%s",
			strings.Join(listed, "\n"), strings.Join(reported, "\n")))
	}
	slices.Sort(faults)
	return faults
}
