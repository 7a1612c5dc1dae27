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

func (l *loop[I]) WhenBroken(fn func(Broken)) { l.broken = fn }

// catch ends a Loop whose step has not returned.
func (l *loop[I]) catch() {
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
