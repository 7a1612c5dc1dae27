package entities

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Bounds of what the log is told of failures of a type.
const (
	stackAgain  = 10 * time.Minute // after which the stack of the same failure is told again
	stacksMax   = 256              // that are remembered
	stackFrames = 16               // that say whether two failures are the same
	lineEvery   = time.Second      // between two lines that tell nothing new
)

// failureLog tells the log of failed entities of a type. An entity that fails at once after each restart
// must not fill it: a stack comes with the first failure that has it, and later once in a while. Lines
// without a stack are at most one a second, with the number of failures that had none. Any goroutine may
// use it.
type failureLog struct {
	log   *slog.Logger
	clock func() time.Duration

	mu     sync.Mutex
	stacks map[uint64]*toldStack // by what they say; at most stacksMax
	last   time.Duration         // when a line was told
	some   bool                  // a line was told
	untold int                   // failures since then
}

// toldStack is a stack that the log has.
type toldStack struct {
	at    time.Duration
	since int // failures with it that came after that
}

// tell writes the line of a failure, if it is due.
func (l *failureLog) tell(f Failure) {
	if line, ok := l.line(f); ok {
		l.log.LogAttrs(context.Background(), line.Level, line.Message, line.Attrs...)
	}
}

func (l *failureLog) line(f Failure) (line events.Line, ok bool) {
	now := l.clock()
	l.mu.Lock()
	defer l.mu.Unlock()
	stack, repeated := l.stack(now, f.Err)
	if stack == "" && l.some && now-l.last < lineEvery {
		l.untold++
		return line, false
	}
	line = f.short()
	if l.untold > 0 {
		line.Attrs = append(line.Attrs, slog.Int("others_untold", l.untold))
	}
	if repeated > 0 {
		line.Attrs = append(line.Attrs, slog.Int("repeated", repeated))
	}
	if stack != "" {
		line.Attrs = append(line.Attrs, slog.String("stack", stack))
	}
	l.some, l.last, l.untold = true, now, 0
	return line, true
}

// stack returns the stack of a failure if it has one that is due, and how often it came since it was told.
func (l *failureLog) stack(now time.Duration, err error) (stack string, repeated int) {
	p, ok := errors.AsType[*failure.PanicError](err)
	if !ok || len(p.Stack) == 0 {
		return "", 0
	}
	key := keyOf(p.Stack)
	told := l.stacks[key]
	if told != nil && now-told.at < stackAgain {
		told.since++
		return "", told.since
	}
	if told != nil {
		repeated = told.since
	} else if len(l.stacks) >= stacksMax {
		clear(l.stacks)
	}
	l.stacks[key] = &toldStack{at: now}
	return string(p.Stack), repeated
}

// keyOf tells stacks apart by where their first frames are, and not by the values of arguments.
func keyOf(stack []byte) uint64 {
	hash, frames := xxh3.New(), 0
	for line := range bytes.Lines(stack) {
		if frames == stackFrames {
			break
		}
		if place, is := bytes.CutPrefix(line, []byte("\t")); is {
			_, _ = hash.Write(place) // a hash takes all
			frames++
		}
	}
	return hash.Sum64()
}
