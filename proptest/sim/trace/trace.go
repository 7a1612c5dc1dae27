package trace

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// Hash is a hash of numbers in their order.
type Hash uint64

// Fold adds numbers to the hash.
func (h *Hash) Fold(xs ...uint64) {
	for _, x := range xs {
		*h = Hash(random.Mix(uint64(*h)*0x9e3779b97f4a7c15 + x))
	}
}

// FoldBytes adds bytes to the hash, as one number.
func (h *Hash) FoldBytes(b []byte) { h.Fold(xxh3.Hash(b)) }

// World is the name of the subject that is no node.
const World = "world"

// Trace is the story of one world.
type Trace struct {
	Hash
	to  Watcher // nil: nothing watches
	now *int64
}

// New begins the story of a world whose true time is at now. It is told to a Watcher; nil: to none.
func New(to Watcher, now *int64) Trace { return Trace{to: to, now: now} }

// Watching reports whether anything is told. What needs work to say asks it first.
func (t *Trace) Watching() bool { return t.to != nil }

// Line tells of a step. The name of a subject is World, or a node, which may have a slash and an incarnation
// behind it.
func (t *Trace) Line(subject fmt.Stringer, format string, args ...any) {
	t.Tell(story.Step, subject, format, args...)
}

// Fault tells of what the world, or a node, is made to suffer.
func (t *Trace) Fault(subject fmt.Stringer, format string, args ...any) {
	t.Tell(story.Fault, subject, format, args...)
}

// Note tells of what is worth a look: operators act.
func (t *Trace) Note(subject fmt.Stringer, format string, args ...any) {
	t.Tell(story.Note, subject, format, args...)
}

// Tell tells of something of any kind.
func (t *Trace) Tell(kind story.Kind, subject fmt.Stringer, format string, args ...any) {
	if t.Watching() {
		t.Record(subject, story.Record{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
}

// Entity tells of a step of an entity, or for one.
func (t *Trace) Entity(subject fmt.Stringer, typ, id, format string, args ...any) {
	if t.Watching() {
		t.Record(subject, story.Record{Type: typ, ID: id, Text: fmt.Sprintf(format, args...)})
	}
}

// Prefixed is a text of lines, each of which has the prefix.
func Prefixed(prefix, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(prefix + line)
	}
	return b.String()
}

// Record tells of something, now, at a subject.
func (t *Trace) Record(subject fmt.Stringer, r story.Record) {
	if !t.Watching() {
		return
	}
	if r.Time = *t.now; subject.String() != World {
		r.Node, r.Incarnation = Lane(subject)
	}
	t.to.Record(r)
}

// Lane takes the name of a subject apart.
func Lane(subject fmt.Stringer) (node, incarnation string) {
	node, incarnation, _ = strings.Cut(subject.String(), "/")
	return node, incarnation
}
