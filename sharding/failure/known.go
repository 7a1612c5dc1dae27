package failure

import (
	"errors"
	"fmt"
	"strings"
)

// Known are the errors of handlers that an asker finds by errors.Is, wherever it is. They travel by
// their text.
type Known []error

// Check returns an error for the first fault of the list.
func (k Known) Check() error {
	const textMax = 256
	seen := map[string]bool{}
	for i, err := range k {
		switch {
		case err == nil:
			return fmt.Errorf("number %d is nil", i+1)
		case err.Error() == "" || len(err.Error()) > textMax || strings.Contains(err.Error(), "\x00"):
			return fmt.Errorf("number %d has a text of %d bytes, want 1 to %d without a zero byte: it travels by "+
				"its text", i+1, len(err.Error()), textMax)
		case seen[err.Error()]:
			return fmt.Errorf("two have the text %q, by which they travel", err.Error())
		}
		seen[err.Error()] = true
	}
	return nil
}

// Of returns the error of the list that cause is; nil: none.
func (k Known) Of(cause error) error {
	for _, known := range k {
		if errors.Is(cause, known) {
			return known
		}
	}
	return nil
}

// handlerError is the error that an asker gets: ErrHandler with the handler's text, and the error of
// the list that it was.
type handlerError struct {
	text  string
	known error // nil: none
}

// Error implements error. That the handler failed is not said of an answer that the service has listed.
func (f *handlerError) Error() string { return "sharding: handler answered: " + f.text }

// Unwrap has both found by errors.Is.
func (f *handlerError) Unwrap() []error {
	if f.known == nil {
		return []error{ErrHandler}
	}
	return []error{ErrHandler, f.known}
}

// OfHandler is what an asker gets of cause, the error of a handler, which is known.
func OfHandler(known, cause error) error { return &handlerError{cause.Error(), known} }

// Text is how the same travels in a reply of codec.StatusKnown.
func Text(known, cause error) string { return known.Error() + "\x00" + cause.Error() }

// Read reads what Text has made. An error that the list does not have is still text.
func (k Known) Read(text string) error {
	name, text, _ := strings.Cut(text, "\x00")
	f := &handlerError{text: text}
	for _, known := range k {
		if known.Error() == name {
			f.known = known
		}
	}
	return f
}
