package codec

import (
	"fmt"
	"runtime/debug"
)

// Panic is what an encoder or a decoder of the user panicked with.
type Panic struct {
	What  string // "encoder" or "decoder"
	Text  string // of the panic
	Stack []byte
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("its %s panicked: %s", p.What, p.Text) }

// guard makes an error of a panic. It is deferred around calls of the user's codec.
func guard(what string, err *error) {
	if p := recover(); p != nil {
		*err = &Panic{what, fmt.Sprint(p), debug.Stack()}
	}
}
