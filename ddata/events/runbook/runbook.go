package runbook

import (
	"embed"
	"path"
	"strings"
)

//go:embed pages
var pages embed.FS

// Page returns the page of an alarm, in Markdown; ok is false if there is none. The alarm is called by its
// name, or as a metric has it: "HandOffAborted" or "hand-off-aborted", "StoreSlow" or "batch.StoreSlow".
func Page(alarm string) (text string, ok bool) {
	b, err := pages.ReadFile(path.Join("pages", nameOf(alarm)+".md"))
	return string(b), err == nil
}

// Alarms lists the names of all pages, in order.
func Alarms() (names []string) {
	all, err := pages.ReadDir("pages")
	if err != nil {
		panic(err) // they are part of the program
	}
	for _, f := range all {
		names = append(names, strings.TrimSuffix(f.Name(), ".md"))
	}
	return names
}

// nameOf makes the name of an alarm of the label that a metric has for it.
func nameOf(label string) string {
	if _, name, has := strings.Cut(label, "."); has {
		return name
	}
	var b strings.Builder
	for word := range strings.SplitSeq(label, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
