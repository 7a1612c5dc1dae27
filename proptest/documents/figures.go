package documents

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// figure is a row of the front page: a row of the report and its figure, the peer of the second column if that is not
// pekko, and what each library makes of it.
var figure = regexp.MustCompile("(?m)^\\|[^|]*\\| `([^`]+)` `([^`]+)`(?: `([^`]+)`)? " +
	"\\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// Figures compares the figures of the front page with the rows of peers in the report. What the report leaves
// empty is "none".
func Figures(page, report string) (findings []string) {
	_, peers, _ := strings.Cut(report, "## Peers\n")
	rows := figure.FindAllStringSubmatch(page, -1)
	if len(rows) == 0 {
		return []string{"README.md has no row with a figure of the report"}
	}
	for _, r := range rows {
		work, name := r[1], r[2]
		own, pekko, found := peer(peers, work, cmp.Or(r[3], "pekko"), name)
		_, protoactor, _ := peer(peers, work, "protoactor", name)
		if !found {
			findings = append(findings, fmt.Sprintf("README.md: the report has no row %s %s", work, name))
			continue
		}
		for i, want := range []string{own, pekko, protoactor} {
			if want == "" {
				want = "none"
			}
			if got := r[4+i]; got != want {
				findings = append(findings, fmt.Sprintf("README.md: %s %s of %s is %s, and %s in the report: copy it",
					work, name, []string{"Coterie", "pekko", "protoactor"}[i], got, want))
			}
		}
	}
	return findings
}

// peer finds a row of the report.
func peer(report, work, of, name string) (own, theirs string, found bool) {
	for line := range strings.Lines(report) {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) > 6 && cells[1] == work && cells[2] == of && cells[3] == name {
			return cells[4], cells[5], true
		}
	}
	return "", "", false
}
