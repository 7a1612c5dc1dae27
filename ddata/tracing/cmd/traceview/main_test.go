package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing/recorder"
	"github.com/coterie-go/coterie/ddata/tracing/story"
)

// The files of two nodes, of which one was killed while it wrote, and has an older file, become one page in the
// order of their clocks.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	line := func(time int64, node, text string) string {
		return string(story.Append(nil, story.Record{Time: time, Node: node, Text: text}))
	}
	files := map[string]string{
		"a": line(4, "a", "four") + `{"t":9,"no`, "a" + recorder.OlderSuffix: line(1, "a", "one") + line(3, "a", "three"),
		"b": line(2, "b", "two") + line(5, "b", "five"),
	}
	for name, text := range files { // order: each by itself
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "page.html")
	last := line(4, "a", "four") + line(5, "b", "five")
	for most, want := range map[int]string{ // order: each by itself
		10: line(1, "a", "one") + line(2, "b", "two") + line(3, "a", "three") + last, 2: last,
	} {
		if err := run(out, "", most, []string{filepath.Join(dir, "b"), filepath.Join(dir, "a")}); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(out)
		if err != nil || !strings.Contains(string(page), "\n"+want+"</script>") ||
			!strings.Contains(string(page), "the story of 2 nodes") {
			t.Errorf("%d: %v, the page lacks %s", most, err, want)
		}
	}
	for _, files := range [][]string{nil, {filepath.Join(dir, "none")}} {
		if err := run(out, "", 1, files); err == nil {
			t.Errorf("%q: no error", files)
		}
	}
}
