package protocol

import (
	"errors"
	"fmt"
)

// Violations gathers every broken invariant of a machine, so that one run shows all.
type Violations []error

// Check notes a violation unless ok.
func (v *Violations) Check(ok bool, format string, args ...any) {
	if !ok {
		*v = append(*v, fmt.Errorf(format, args...))
	}
}

// Err is all of them; nil if there is none.
func (v *Violations) Err() error { return errors.Join(*v...) }
