package viewer_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
)

const hostile = "</script><script>alert(1)</script><!--\u2028"

// What records, the title and the command say cannot leave their element, and nothing is asked of a network.
func TestPageIsWhole(t *testing.T) {
	var out bytes.Buffer
	r := story.Record{
		Kind: story.Violation, Node: hostile, Incarnation: hostile, Peer: hostile, Message: hostile, Type: hostile,
		ID: hostile, Keys: []string{hostile}, Text: hostile,
	}
	p := viewer.Page{Title: hostile, Replay: hostile, Records: []story.Record{r, r}, Left: 3}
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if n := strings.Count(page, "</script"); n != 3 || strings.Contains(page, "<!--") {
		t.Errorf("%d elements end", n)
	}
	if m := regexp.MustCompile(`(src|href|url\()=?["']?(https?:)?//`).FindString(page); m != "" {
		t.Errorf("it asks elsewhere: %s", m)
	}
	if m := regexp.MustCompile(` (style|on\w+)="`).FindString(page); m != "" {
		t.Errorf("its own policy forbids %s", m)
	}
	line := string(story.Append(nil, r))
	for _, want := range []string{"default-src &#39;none&#39;", `"left":3`, "\n" + line + line + "</script>"} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %s", want)
		}
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// A file has the page, anew each time.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.html")
	for _, p := range []viewer.Page{{Title: "a longer title", Replay: "x"}, {Title: "b"}} {
		var want bytes.Buffer
		if err := errors.Join(p.WriteFile(path), p.Write(&want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q: %v", got, err)
		}
	}
	if err := (viewer.Page{}).WriteFile(t.TempDir()); err == nil {
		t.Error("a folder is no file")
	}
}

// An error of the writer is told.
func TestErrors(t *testing.T) {
	for _, n := range []int{0, 100_000} {
		if err := (viewer.Page{Records: make([]story.Record, n)}).Write(full{}); !errors.Is(err, errFull) {
			t.Errorf("%d records: %v", n, err)
		}
	}
}
