package runbook

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/protocol"
)

const (
	root      = "../../.." // of the library
	rulesFile = root + "/ddata/events/prom/rules.yaml"
)

// states are alarms that no event tells of: a rule sees them in a gauge.
var states = []string{"Lagging", "NotLive", "NotReady"}

// pagesURL is where the rules say that the pages are.
const pagesURL = "https://github.com/coterie-go/coterie/blob/main/ddata/events/runbook/pages/"

// alarms are those that the code has: kinds of events of the control plane, and types whose lines can be
// warnings or errors.
func alarms(t *testing.T) []string {
	t.Helper()
	all := map[string]bool{}
	for k := protocol.EventKind(1); k < protocol.EventEnd; k++ {
		if (protocol.Event{Kind: k}).Warning() {
			all[nameOf(k.String())] = true
		}
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		src, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(src), ") Line() ") {
			return err
		}
		for _, name := range loud(t, file, src) {
			all[name] = true
		}
		return nil
	})
	for _, name := range states {
		all[name] = true
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(all, "Event") // of the control plane: each kind has a page
	return slices.Sorted(maps.Keys(all))
}

// level is how a line says that it is a warning or an error.
var level = regexp.MustCompile(`slog\.Level(Warn|Error)|warnIf\(`)

// loud are the types of a file whose method Line, or what that calls of the type, has such a level.
func loud(t *testing.T, file string, src []byte) (names []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name != "Line" && fn.Name.Name != "short" {
			continue
		}
		recv, ok := fn.Recv.List[0].Type.(*ast.Ident)
		if ok && level.Match(src[set.Position(fn.Pos()).Offset:set.Position(fn.End()).Offset]) {
			names = append(names, recv.Name)
		}
	}
	return names
}

// Each alarm of the library has a page, and each page an alarm.
func TestEachAlarmHasAPage(t *testing.T) {
	want, got := alarms(t), Alarms()
	if len(want) < 50 {
		t.Fatalf("only %d alarms are found", len(want))
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s has no page", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s has a page, and is no alarm", name)
		}
	}
}

// A page has a title, says what severity the alarm has, and has all four parts with something in them.
func TestPages(t *testing.T) {
	for _, name := range Alarms() {
		text, _ := Page(name)
		if !strings.HasPrefix(text, "# "+name+"\n") || !regexp.MustCompile(`\nSeverity: (page|ticket)\. `).MatchString(text) {
			t.Errorf("%s begins with %.80q", name, text)
		}
		for _, part := range []string{"Meaning", "Cause", "What to do", "What shows it"} {
			_, rest, found := strings.Cut(text, "\n## "+part+"\n\n")
			body, _, _ := strings.Cut(rest, "\n\n")
			if !found || len(body) < 20 {
				t.Errorf("%s: %q is %q", name, part, body)
			}
		}
		for _, m := range regexp.MustCompile("(?:See|see|for|and) `([A-Z][A-Za-z]+)`").FindAllStringSubmatch(text, -1) {
			if _, ok := Page(m[1]); !ok {
				t.Errorf("%s names %s, which has no page", name, m[1])
			}
		}
	}
	for label, name := range map[string]string{
		"hand-off-aborted": "HandOffAborted", "batch.StoreSlow": "StoreSlow", "entities.Failure": "Failure",
		"LeaseLost": "LeaseLost",
	} {
		if text, ok := Page(label); !ok || !strings.HasPrefix(text, "# "+name+"\n") {
			t.Errorf("the page of %s is %.40q", label, text)
		}
	}
	if _, ok := Page("../doc.go"); ok {
		t.Error("what is no page is one")
	}
}

// rule is one of the rules for Prometheus.
type rule struct{ alert, expr, severity, runbook string }

// The rules are written in a part of YAML: one key a line, and texts as in JSON.
var line = regexp.MustCompile(`^( {6}- | {8}| {10})(alert|expr|for|severity|summary|runbook_url|labels|annotations):(?: (.+))?$`)

func rules(t *testing.T) (all []rule) {
	t.Helper()
	b, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(b)) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "#") || text == "groups:" || text == "    rules:" ||
			regexp.MustCompile(`^  - name: [a-z-]+$`).MatchString(text) {
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no line of a rule: %q", text)
		}
		key, value := m[2], m[3]
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), &value); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		} else if !regexp.MustCompile(`^[A-Za-z0-9:/.-]*$`).MatchString(value) {
			t.Fatalf("%q is not plain", text)
		}
		if key == "alert" {
			all = append(all, rule{alert: value})
			continue
		}
		r := &all[len(all)-1]
		switch key {
		case "expr":
			r.expr = value
		case "severity":
			r.severity = value
		case "runbook_url":
			r.runbook = value
		}
	}
	return all
}

// Each alarm has a rule that names its page and has its severity, or its page says why it has none.
func TestEachAlarmHasARule(t *testing.T) {
	of := map[string]rule{}
	for _, r := range rules(t) {
		name, ok := strings.CutPrefix(r.alert, "Coterie")
		if !ok || r.expr == "" || r.runbook != pagesURL+name+".md" {
			t.Errorf("%+v", r)
		}
		if _, twice := of[name]; twice {
			t.Errorf("%s has two rules", name)
		}
		of[name] = r
	}
	for _, name := range Alarms() {
		text, _ := Page(name)
		r, has := of[name]
		_, reason, none := strings.Cut(text, "\nNo rule: ")
		switch {
		case has && none:
			t.Errorf("%s has a rule, and its page says why it has none", name)
		case has && !strings.Contains(text, "\nSeverity: "+r.severity+". "):
			t.Errorf("%s: the rule has the severity %q", name, r.severity)
		case !has && len(reason) < 20:
			t.Errorf("%s has no rule, and its page does not say why", name)
		}
		delete(of, name)
	}
	for name := range of {
		t.Errorf("%s has a rule and no page", name)
	}
}
