package failure

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is the failure of a handler that has panicked. If it has ended its goroutine by
// runtime.Goexit in place of returning, as a test's Fatal does, Value is ErrGoexit.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the handler
}

// Error implements error.
func (p *PanicError) Error() string {
	if p.Value == ErrGoexit {
		return ErrGoexit.Error()
	}
	return fmt.Sprintf("panic: %v", p.Value)
}

// Unwrap is the value of the panic, if that is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// ErrGoexit is the Value of a PanicError whose handler has ended its goroutine.
var ErrGoexit = errors.New("the handler ended its goroutine")

// OfRecovered is what a handler has failed with that did not return, by what recover says; nil: it
// ended its goroutine.
func OfRecovered(recovered any) error {
	if recovered == nil {
		recovered = ErrGoexit
	}
	return &PanicError{recovered, debug.Stack()}
}
