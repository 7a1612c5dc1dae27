package trace

import (
	"fmt"
	"io"
	"strings"

	"github.com/coterie-go/coterie/ddata/tracing/story"
)

// Watcher is told what happens in a world, in order, by one goroutine.
type Watcher interface{ Record(story.Record) }

var (
	_ Watcher = (*story.Log)(nil)
	_ Watcher = (*Printer)(nil)
	_ Watcher = (*Tail)(nil)
	_ Watcher = Watchers(nil)
)

// Watchers are told one after the other.
type Watchers []Watcher

// Record implements Watcher.
func (ws Watchers) Record(r story.Record) {
	for _, w := range ws {
		w.Record(r)
	}
}

// Printer prints each line of what happens. It leaves out messages that are sent and received, which the steps
// of machines show.
type Printer struct{ out io.Writer }

// NewPrinter prints to a writer, whose errors are not looked at.
func NewPrinter(out io.Writer) *Printer { return &Printer{out} }

// Record implements Watcher.
func (p *Printer) Record(r story.Record) {
	if r.Kind == story.Sent || r.Kind == story.Received {
		return
	}
	subject := r.Node
	switch {
	case r.Node == "":
		subject = World
	case r.Incarnation != "":
		subject += "/" + r.Incarnation
	}
	for line := range strings.Lines(r.Text) {
		fmt.Fprintf(p.out, "%12.6f %-10s %s\n", float64(r.Time)/1e9, subject, strings.TrimSuffix(line, "\n"))
	}
}

// Tail keeps the last records, to show how a run came to fail without all that went before.
type Tail struct {
	records []story.Record
	most    int
}

// NewTail keeps the last most records.
func NewTail(most int) *Tail { return &Tail{most: most} }

// Record implements Watcher.
func (t *Tail) Record(r story.Record) {
	if r.Kind == story.Sent || r.Kind == story.Received {
		return // a Printer leaves them out
	}
	t.records = append(t.records, r)
	if len(t.records) > 2*t.most {
		t.records = append(t.records[:0], t.records[len(t.records)-t.most:]...)
	}
}

// Print prints what was kept.
func (t *Tail) Print(out io.Writer) {
	p := NewPrinter(out)
	for _, r := range t.records[max(0, len(t.records)-t.most):] {
		p.Record(r)
	}
}
