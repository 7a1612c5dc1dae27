package dataplane

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/sharding/codec"
)

// failure is the error that an asker gets: ErrHandler with the handler's text, and one of
// EntityType.Errors if the handler's error was one.
type failure struct {
	text  string
	known error // nil: none
}

// Error implements error.
func (f *failure) Error() string { return ErrHandler.Error() + ": " + f.text }

// Unwrap has both found by errors.Is.
func (f *failure) Unwrap() []error {
	if f.known == nil {
		return []error{ErrHandler}
	}
	return []error{ErrHandler, f.known}
}

// Fail answers a question with a handler's error. An asker on this node gets no more of it than one
// elsewhere would.
func (b *Outbox) Fail(env Envelope, cause error) {
	for _, known := range b.errors {
		if !errors.Is(cause, known) {
			continue
		}
		if env.Call != 0 && env.Origin == b.self && !env.internal() {
			b.answered(b.asks.answer(env.Call, nil, &failure{cause.Error(), known}))
			return
		}
		b.ReplyError(env, codec.StatusKnown, known.Error()+"\x00"+cause.Error())
		return
	}
	b.ReplyError(env, codec.StatusHandler, cause.Error())
}

// failureOf reads what fail sent. An error that this node's type does not list is still text.
func (b *Outbox) failureOf(text string) error {
	name, text, _ := strings.Cut(text, "\x00")
	f := &failure{text: text}
	for _, known := range b.errors {
		if known.Error() == name {
			f.known = known
		}
	}
	return f
}

// CheckErrors says what is wrong with EntityType.Errors.
func CheckErrors(list []error) error {
	const textMax = 256
	seen := map[string]bool{}
	for i, err := range list {
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
