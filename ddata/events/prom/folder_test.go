package prom_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// table is a row of a table of metrics in the design.md of a package. Tests of these packages hold them
// equal to what is reported.
var table = regexp.MustCompile(`(?m)^(coterie_\w+)(?:\{([\w,]+)\})? +(gauge:|histogram:)?`)

// metric is what a table says of one.
type metric struct {
	labels []string
	kind   string
}

// metrics are all of the library, by name; a histogram under the names of its series.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	all := map[string]metric{}
	err := filepath.WalkDir("../../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "design.md" {
			return err
		}
		src, err := os.ReadFile(file)
		for _, m := range table.FindAllStringSubmatch(string(src), -1) {
			x := metric{kind: m[3]}
			if m[2] != "" {
				x.labels = strings.Split(m[2], ",")
			}
			if x.kind != "histogram:" {
				all[m[1]] = x
				continue
			}
			for _, series := range []string{"_bucket", "_sum", "_count"} {
				all[m[1]+series] = x
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	series = regexp.MustCompile(`\b(coterie_\w+)(?:\{([^}]*)\})?`)
	label  = regexp.MustCompile(`(\w+) *(?:=~|!~|!=|=) *"`)
	by     = regexp.MustCompile(`by \(([\w, ]+)\)`)
)

// added are labels that Prometheus itself adds, or that a histogram has.
var added = []string{"instance", "job", "le"}

// check looks at the metrics of an expression: they exist, with these labels.
func check(t *testing.T, where, expr string, all map[string]metric) {
	t.Helper()
	var known []string
	for _, m := range series.FindAllStringSubmatch(expr, -1) {
		x, ok := all[m[1]]
		if !ok {
			t.Errorf("%s: %s is no metric of the library", where, m[1])
			continue
		}
		known = append(known, x.labels...)
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(x.labels, l[1]) && !slices.Contains(added, l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
		if counter := x.kind != "gauge:"; counter && !regexp.MustCompile(`(rate|increase)\(`+m[1]).MatchString(expr) &&
			!strings.Contains(expr, " offset ") {
			t.Errorf("%s: %s only grows, and is taken as it is", where, m[1])
		}
	}
	for _, m := range by.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			if l = strings.TrimSpace(l); !slices.Contains(known, l) && !slices.Contains(added, l) {
				t.Errorf("%s: sums by %s, which nothing there has", where, l)
			}
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: %s is not closed", where, expr)
	}
}

// The rules ask for metrics that exist, with labels that they have. Package runbook compares them with the
// alarms.
func TestRules(t *testing.T) {
	b, err := os.ReadFile("rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, n := metrics(t), 0
	for _, m := range regexp.MustCompile(`(?m)^ +expr: (".*")$`).FindAllSubmatch(b, -1) {
		var expr string
		if err := json.Unmarshal(m[1], &expr); err != nil {
			t.Fatal(err)
		}
		check(t, "rules.yaml", expr, all)
		if m := regexp.MustCompile(`\b(max|min|sum|count|avg)(\(| by \((?:[^j]|j[^o])*\))`).FindString(expr); m != "" {
			t.Errorf("%s takes the clusters that one Prometheus looks at together: %s", expr, m)
		}
		n++
	}
	if n < 50 || len(all) < 150 {
		t.Errorf("%d rules, %d metrics", n, len(all))
	}
}

// The dashboard is JSON; its panels ask for metrics that exist, with labels that they have, lie beside each
// other, and name in their legends only what is left of the labels.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
		Annotations struct{ List []struct{ Expr string } }
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	all, taken, ids := metrics(t), map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || (len(p.Targets) == 0) != (p.Type == "row") {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies on %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, q := range p.Targets {
			check(t, p.Title, q.Expr, all)
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
				if !strings.Contains(q.Expr, m[1]) {
					t.Errorf("%s: the legend names %s", p.Title, m[1])
				}
			}
		}
	}
	for _, p := range d.Panels {
		for _, x := range p.Targets {
			if !strings.Contains(x.Expr, `instance=~"$instance"`) {
				t.Errorf("%s: %s shows nodes that were not chosen", p.Title, x.Expr)
			}
		}
	}
	for _, v := range d.Templating.List {
		if v.Name == "instance" && !strings.Contains(v.Definition, `job=~"$job"`) {
			t.Errorf("nodes are those of several clusters: %s", v.Definition)
		}
		if v.Definition != "" {
			check(t, v.Name, v.Definition, all)
		}
	}
	for _, a := range d.Annotations.List {
		check(t, "annotation", a.Expr, all)
	}
	if len(d.Panels) < 30 {
		t.Errorf("%d panels", len(d.Panels))
	}
	shown := map[string]bool{}
	for _, m := range series.FindAllStringSubmatch(string(b), -1) {
		shown[m[1]] = true
	}
	t.Logf("%d of %d series are shown: %v", len(shown), len(all), slices.Sorted(maps.Keys(shown)))
}
