package runloop

import (
	"errors"
	"runtime/debug"
	"slices"
)

// Broken tells of a step that has panicked: the machine has found one of its own invariants broken,
// or what its effects call has panicked.
type Broken struct {
	Value any    // of the panic
	Stack []byte // of the goroutine, where it panicked
}

// errExited is the Value of a step that ended its goroutine by runtime.Goexit.
var errExited = errors.New("runtime.Goexit was called")

// WhenBroken has fn called when a step panics, on the Loop's goroutine, when nothing can be posted
// any more. Nothing is stepped after it: the state of a machine that broke its own rules is worth
// nothing. Without it a panic ends the process. It is called before Start.
func (l *Loop[I]) WhenBroken(fn func(Broken)) { l.broken = fn }

// catch ends a Loop whose step has not returned.
func (l *Loop[I]) catch() {
	if l.over {
		return
	}
	value := recover()
	if value == nil {
		value = errExited
	}
	l.turning.Store(0)
	l.mu.Lock()
	l.stopped = true
	l.inbox = append(slices.Clone(l.work), l.inbox...)
	l.mu.Unlock()
	l.broken(Broken{Value: value, Stack: debug.Stack()})
}
