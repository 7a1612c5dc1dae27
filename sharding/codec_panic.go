package sharding

import (
	"fmt"
	"runtime/debug"
)

// codecPanic is what an encoder or a decoder of the user panicked with.
type codecPanic struct {
	what  string // "encoder" or "decoder"
	text  string // of the panic
	stack []byte
}

// Error implements error.
func (p *codecPanic) Error() string { return fmt.Sprintf("its %s panicked: %s", p.what, p.text) }

// guardCodec makes an error of a panic. It is deferred around calls of the user's codec.
func guardCodec(what string, err *error) {
	if p := recover(); p != nil {
		*err = &codecPanic{what, fmt.Sprint(p), debug.Stack()}
	}
}
