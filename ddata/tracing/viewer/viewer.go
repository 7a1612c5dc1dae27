package viewer

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"

	"github.com/coterie-go/coterie/ddata/tracing/story"
)

// Page is the story of a cluster, and what it is of.
type Page struct {
	Title string // in plain text
	// Replay is how this can be seen again: a command, in plain text. May be empty.
	Replay string
	// Records are in the order in which things happened, as those of a Log or of Merge are.
	Records []story.Record
	// Left is how many more records there were.
	Left int
}

//go:embed page/body.html
var body string

//go:embed page/viewer.css
var style string

//go:embed page/viewer.js
var script string

// policy allows the style and the script of the page by their hashes, and nothing else.
var policy = fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src '%s'; "+
	"script-src '%s'", hashOf(style), hashOf(script))

func hashOf(part string) string {
	sum := sha256.Sum256([]byte(part))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

const frame = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="data:,">
<style>%s</style>
</head>
<body>
%s
<script type="application/json" id="page">%s</script>
<script type="application/json" id="records">
`

// WriteFile writes the page to a file, which it makes anew.
func (p Page) WriteFile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(f), f.Close())
}

// about is the head of a page, as the script reads it.
type about struct {
	Title  string `json:"title"`
	Replay string `json:"replay"`
	Left   int    `json:"left"`
}

// Write writes the page. Its error is the one of w.
func (p Page) Write(w io.Writer) error {
	// Like the lines of a story, it has no character that ends or opens an element: json escapes them.
	head, err := json.Marshal(about{p.Title, p.Replay, p.Left})
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, frame, html.EscapeString(policy), html.EscapeString(p.Title), style, body, head)
	if err := story.Write(out, p.Records); err != nil {
		return err
	}
	fmt.Fprintf(out, "</script>\n<script>%s</script>\n</body>\n</html>\n", script)
	return out.Flush()
}
