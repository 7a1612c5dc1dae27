package protocol

import "fmt"

// Faults gathers what is wrong with settings, each by its field's name.
type Faults []error

// Add adds a fault, if there is one.
func (f *Faults) Add(bad bool, format string, args ...any) {
	if bad {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// Of adds the faults of a value that may have several, each behind the name of the value's field.
func (f *Faults) Of(field string, err error) {
	switch all := err.(type) {
	case nil:
	case interface{ Unwrap() []error }:
		for _, e := range all.Unwrap() {
			f.Of(field, e)
		}
	default:
		*f = append(*f, fmt.Errorf("%s.%w", field, err))
	}
}
