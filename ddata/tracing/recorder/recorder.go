package recorder

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/tracing/story"
)

// Config says what a Recorder records, and where.
type Config struct {
	// Node is the name of the node's lane: its address, or what people call it. A name of more than 256 bytes
	// is cut.
	Node string
	// Out takes the lines, some whole ones at a time, from one goroutine. After its first error nothing more is
	// written, and Close returns the error. A File is of a bounded size.
	Out io.Writer
	// Waiting is how many records wait for Out at most. Default 10,000.
	Waiting int
}

// nodeMax bounds the name of a node, in bytes: it travels with each message.
const nodeMax = 256

// batchBytes is about how much is written at once.
const batchBytes = 64 << 10

// Recorder records what happens on one node. Its methods may be called from any goroutine, and never wait,
// but Close.
type Recorder struct {
	node    string
	out     io.Writer
	waiting chan story.Record
	dropped atomic.Uint64
	now     func() time.Time

	stop    func()        // ends the goroutine, once
	stopped chan struct{} // closed when it has ended
	err     error         // of out; before stopped is closed, it is the goroutine's
}

// New starts a Recorder, which records that the node has started. The caller closes it.
func New(cfg Config) *Recorder {
	if cfg.Waiting <= 0 {
		cfg.Waiting = 10_000
	}
	ended := make(chan struct{})
	r := &Recorder{
		node: cfg.Node[:min(len(cfg.Node), nodeMax)], out: cfg.Out, waiting: make(chan story.Record, cfg.Waiting),
		now: time.Now, stop: sync.OnceFunc(func() { close(ended) }), stopped: make(chan struct{}),
	}
	if cfg.Out == nil {
		r.err = errors.New("recorder: Config.Out is missing")
	}
	r.Record(story.Record{Kind: story.Started, Text: "recording"})
	go r.run(ended)
	return r
}

// Record records something of the caller's own, at this node and now.
func (r *Recorder) Record(rec story.Record) {
	rec.Time, rec.Node = r.now().UnixNano(), r.node
	select {
	case r.waiting <- rec:
	default:
		r.dropped.Add(1)
	}
}

// Dropped is how many records found no room so far, or no working Out.
func (r *Recorder) Dropped() uint64 { return r.dropped.Load() }

// Close writes what waits, and returns the error of Out. What comes later is not recorded. Out is the
// caller's to close.
func (r *Recorder) Close() error {
	r.stop()
	<-r.stopped
	return r.err
}

// run writes what comes until the Recorder is closed.
func (r *Recorder) run(ended <-chan struct{}) {
	defer close(r.stopped)
	w := writer{r: r}
	for {
		select {
		case rec := <-r.waiting:
			w.add(rec)
			for len(w.lines) < batchBytes && w.addWaiting() {
			}
			w.write()
		case <-ended:
			for w.addWaiting() {
			}
			w.write()
			return
		}
	}
}

// writer is what the goroutine of a Recorder has.
type writer struct {
	r     *Recorder
	lines []byte // that are not written
	count uint64 // of them
	said  uint64 // of Dropped, in the story
}

// addWaiting adds a record that waits, and reports whether there was one.
func (w *writer) addWaiting() bool {
	select {
	case rec := <-w.r.waiting:
		w.add(rec)
		return true
	default:
		return false
	}
}

// add adds a line, and before it what is missing there.
func (w *writer) add(rec story.Record) {
	if dropped := w.r.Dropped(); dropped > w.said && w.r.err == nil {
		w.lines = story.Append(w.lines, story.Record{
			Time: rec.Time, Node: rec.Node, Kind: story.Note,
			Text: fmt.Sprintf("%d records were dropped about here", dropped-w.said),
		})
		w.said = dropped
	}
	w.lines = story.Append(w.lines, rec)
	w.count++
}

// write writes the lines.
func (w *writer) write() {
	if w.r.err == nil && len(w.lines) > 0 {
		_, w.r.err = w.r.out.Write(w.lines)
	}
	if w.r.err != nil {
		w.r.dropped.Add(w.count)
	}
	w.lines, w.count = w.lines[:0], 0
}
