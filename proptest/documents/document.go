package documents

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Document is one Markdown file.
type Document struct {
	Name   string // below the root, with slashes
	Source []byte

	fences   []fence
	links    []link
	anchors  map[string]bool
	spans    []span
	passages []passage
}

// fence is a block of code.
type fence struct {
	line    int // of its first line of code
	kind    string
	text    string
	before  string // what a comment says that ends on the line above the block
	from, n int    // where text stands in Source
}

type link struct {
	line int
	dest string
}

// span is code within the text.
type span struct {
	line int
	text string
}

// passage is a paragraph, or a point of a list.
type passage struct {
	line int
	text string // a span of code is one word
}

// Load reads all documents below root, hidden folders aside.
func Load(root string) (docs []*Document, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err == nil {
			docs = append(docs, Parse(name, source))
		}
		return err
	})
	return docs, err
}

// Parse reads one document.
func Parse(name string, source []byte) *Document {
	d := &Document{Name: name, Source: source, anchors: map[string]bool{}}
	md := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	root := md.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			d.take(n)
		}
		return ast.WalkContinue, nil
	})
	return d
}

func (d *Document) take(n ast.Node) {
	switch n := n.(type) {
	case *ast.FencedCodeBlock:
		d.fences = append(d.fences, d.fence(n))
	case *ast.Heading:
		if id, ok := n.AttributeString("id"); ok {
			d.anchors[string(id.([]byte))] = true
		}
	case *ast.Link:
		d.links = append(d.links, link{d.lineOf(n), string(n.Destination)})
	case *ast.Image:
		d.links = append(d.links, link{d.lineOf(n), string(n.Destination)})
	case *ast.CodeSpan:
		d.spans = append(d.spans, span{d.lineOf(n), d.words(n)})
	case *ast.Paragraph, *ast.TextBlock:
		if _, cell := n.Parent().(interface{ IsHeader() bool }); !cell {
			d.passages = append(d.passages, passage{d.lineOf(n), d.words(n)})
		}
	}
}

// fence returns a block and the comment before it.
func (d *Document) fence(n *ast.FencedCodeBlock) fence {
	f := fence{kind: string(n.Language(d.Source))}
	if n.Lines().Len() > 0 {
		first, last := n.Lines().At(0), n.Lines().At(n.Lines().Len()-1)
		f.from, f.n = first.Start, last.Stop-first.Start
	} else if n.Info != nil {
		f.from = n.Info.Segment.Stop + 1
	}
	f.text, f.line = string(d.Source[f.from:f.from+f.n]), d.line(f.from)
	above := d.Source[:max(0, bytes.LastIndex(d.Source[:f.from], []byte("```")))]
	if c, is := bytes.CutSuffix(bytes.TrimRight(above, " \n"), []byte("-->")); is {
		if i := bytes.LastIndex(c, []byte("<!--")); i >= 0 {
			f.before = strings.Join(strings.Fields(string(c[i+len("<!--"):])), " ")
		}
	}
	return f
}

// words returns the text below a node; within the text of a passage a span of code is one word.
func (d *Document) words(n ast.Node) string {
	var b strings.Builder
	_, whole := n.(*ast.CodeSpan)
	_ = ast.Walk(n, func(c ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(d.Source))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.CodeSpan:
			if !whole {
				b.WriteString("code")
				return ast.WalkSkipChildren, nil
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// lineOf is the line on which a node begins, or the one of the block around it.
func (d *Document) lineOf(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if t, is := n.(*ast.Text); is {
			return d.line(t.Segment.Start)
		}
		if t, is := n.FirstChild().(*ast.Text); is {
			return d.line(t.Segment.Start)
		}
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			return d.line(n.Lines().At(0).Start)
		}
	}
	return 1
}

func (d *Document) line(offset int) int { return 1 + bytes.Count(d.Source[:offset], []byte("\n")) }

// finding says what is wrong at a line.
func (d *Document) finding(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", d.Name, line, fmt.Sprintf(format, args...))
}

// named returns the document of that name.
func named(docs []*Document, name string) (*Document, bool) {
	i := slices.IndexFunc(docs, func(d *Document) bool { return d.Name == name })
	if i < 0 {
		return nil, false
	}
	return docs[i], true
}
