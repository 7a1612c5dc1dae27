package dataplane

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// slowWatch finds handlers that do not return. It looks at the workers of the pool every so often:
// one that is in the same turn as at the look before, and has begun no message since, is in the
// same handler. So a message costs a worker no look at the clock.
type slowWatch struct {
	pool  *pool
	clock func() time.Duration // of the region
	note  func(protocol.Event) // tells the control plane; it does not wait

	after time.Duration    // a handler that runs for longer is told of; 0: none is
	alarm *scheduler.Alarm // for the next look; nil: none

	// the number of the last look; a worker stores it with the first message that it begins after
	// that
	look atomic.Uint32
	now  atomic.Int64 // handlers that run for longer than after

	mu      sync.Mutex
	sighted map[*worker]sighting
	told    map[*worker]string // where a handler stands that was told of
	stacks  func() []byte      // the stacks of all goroutines; tests have their own
}

// sighting is what a look has seen of a worker.
type sighting struct {
	at    busyWorker
	since time.Duration // on the region's clock: the first look that has seen the same
	told  time.Duration // the age at which it was told of; 0: not yet
}

// watch sets the age of what is told of; negative: nothing is.
func (w *slowWatch) watch(after time.Duration, c scheduler.Clock) {
	if after > 0 {
		w.after = after
		w.alarm = scheduler.NewAlarm(c, max(slowLeast, after/slowLooks), func() {
			w.scan()
			w.alarm.Arm()
		})
	}
	w.told, w.stacks = map[*worker]string{}, allStacks
}

const (
	slowLooks = 4                // in the time after which a handler is told of
	slowTold  = 8                // handlers that one look tells of, at most
	stacksMax = 4 << 20          // bytes of all stacks, which stop the process while they are written
	stackMax  = 8 << 10          // bytes of one stack that an event has
	slowLeast = time.Millisecond // between two looks
)

func (w *slowWatch) start() {
	if w.alarm != nil {
		w.alarm.Arm()
	}
}

func (w *slowWatch) stop() {
	if w.alarm != nil {
		w.alarm.Stop()
	}
}

// busyWorker is a worker within a turn.
type busyWorker struct {
	w         *worker
	goroutine string
	e         *Entity
	slice     uint64
	begun     uint32 // the look after which it has begun its latest message
}

// busy lists the workers that are within a turn, in the order in which they were made.
func (p *pool) busy() (all []busyWorker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.alive { // order: sorted below
		if w.at != nil {
			all = append(all, busyWorker{w, w.goroutine, w.at, w.slices, w.begun.Load()})
		}
	}
	slices.SortFunc(all, func(a, b busyWorker) int { return cmp.Compare(a.w.number, b.w.number) })
	return all
}

// scan looks once.
func (w *slowWatch) scan() {
	now := w.clock()
	w.mu.Lock()
	defer w.mu.Unlock()
	busy := w.pool.busy()
	sighted, slow := make(map[*worker]sighting, len(busy)), 0
	var due []busyWorker
	for _, b := range busy {
		s, same := w.sighted[b.w]
		if !same || s.at != b {
			s = sighting{at: b, since: now}
			delete(w.told, b.w)
		}
		age := now - s.since
		if age >= w.after {
			slow++
			if age >= 2*s.told && len(due) < slowTold {
				s.told = age
				due = append(due, b)
			}
		}
		sighted[b.w] = s
	}
	for gone := range w.told { // order: each is judged by itself
		if _, is := sighted[gone]; !is {
			delete(w.told, gone)
		}
	}
	w.sighted = sighted
	w.now.Store(int64(slow))
	w.look.Add(1)
	if len(due) > 0 {
		w.tell(due)
	}
}

// tell has the control plane note handlers that do not return: the first time, and whenever
// their age has doubled.
func (w *slowWatch) tell(due []busyWorker) {
	all := w.stacks()
	for _, b := range due {
		stack := StackOf(all, b.goroutine)
		where := HandlerIn(stack)
		w.told[b.w] = where
		w.note(protocol.Event{
			Kind: protocol.HandlerSlow, Shard: protocol.ShardID(b.e.Shard.Number), Entity: protocol.EntityID(b.e.ID),
			Took: w.sighted[b.w].told, Text: where, Stack: stack,
		})
	}
}

// runningHandler says for how long a handler of the entity has run, and where it stands if that was
// told of. It is empty if none runs.
func (w *slowWatch) runningHandler(e *Entity) string {
	for _, b := range w.pool.busy() {
		if b.e == e {
			return w.describe(b)
		}
	}
	return ""
}

func (w *slowWatch) describe(b busyWorker) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := "a handler of it runs"
	if s, ok := w.sighted[b.w]; ok && s.at == b {
		text = fmt.Sprintf("a handler of it has run for %v", (w.clock() - s.since).Round(time.Millisecond))
	}
	if where := w.told[b.w]; where != "" {
		text += " in " + where
	}
	return text
}

// StillRunning names handlers that keep shards here, a few of them.
func (w *slowWatch) StillRunning() string {
	const most = 3
	var names []string
	busy := w.pool.busy()
	for _, b := range busy[:min(len(busy), most)] {
		names = append(names, fmt.Sprintf("shard %d, entity %q: %s", b.e.Shard.Number, b.e.ID, w.describe(b)))
	}
	if n := len(busy) - len(names); n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, "; ")
}

// allStacks writes the stacks of all goroutines, as many as fit.
func allStacks() []byte {
	for size := 64 << 10; ; size *= 4 {
		b := make([]byte, min(size, stacksMax))
		if n := runtime.Stack(b, true); n < len(b) || len(b) == stacksMax {
			return b[:n]
		}
	}
}

// goroutineID is what stacks call this goroutine.
func goroutineID() string {
	var b [64]byte
	text, _ := strings.CutPrefix(string(b[:runtime.Stack(b[:], false)]), "goroutine ")
	id, _, _ := strings.Cut(text, " ")
	return id
}

// StackOf cuts the stack of one goroutine out of all; empty: it is not among them.
func StackOf(all []byte, goroutine string) string {
	begin := []byte("goroutine " + goroutine + " [")
	at := 0
	if !bytes.HasPrefix(all, begin) {
		if at = bytes.Index(all, append([]byte("\n\n"), begin...)); at < 0 {
			return ""
		}
		at += 2
	}
	stack, _, _ := bytes.Cut(all[at:], []byte("\n\n"))
	return string(stack[:min(len(stack), stackMax)])
}

// HandlerIn finds the user's handler in the stack of a worker: the function that this package has
// called. It returns its name and the line where it stands.
func HandlerIn(stack string) string {
	lines := strings.Split(stack, "\n")
	user := ""
	for i := 1; i+1 < len(lines); i += 2 {
		if callsHandler(lines[i]) {
			return user
		}
		name, line := lines[i], strings.TrimSpace(lines[i+1])
		if at := strings.LastIndexByte(name, '('); at > 0 {
			name = name[:at]
		}
		line, _, _ = strings.Cut(line, " +0x")
		user = path.Base(name) + " at " + path.Base(line)
	}
	return ""
}

// callsHandler reports whether a frame is that of this package's that calls the user's code.
func callsHandler(frame string) bool {
	_, method, is := strings.Cut(frame, "/sharding.(*Context[...]).")
	if is {
		return strings.HasPrefix(method, "receive(") || strings.HasPrefix(method, "carry(") ||
			strings.HasPrefix(method, "stop(")
	}
	return strings.Contains(frame, "/sharding.") && strings.Contains(frame, ".incarnate.func")
}
