package config

import (
	"fmt"
	"reflect"
	"strings"
)

// SettingError is one thing that is wrong with a configuration.
type SettingError struct {
	Setting string // its name; with dots, if it is nested
	Err     error  // what is wrong with its value, and what to do, without the name
}

// Error names the setting and says what is wrong.
func (f SettingError) Error() string {
	if f.Setting == "" {
		return f.Err.Error()
	}
	return f.Setting + ": " + f.Err.Error()
}

// Unwrap returns what is wrong.
func (f SettingError) Unwrap() error { return f.Err }

// Faults gathers what is wrong with a configuration. The zero value is ready.
type Faults []SettingError

// Add adds a fault if there is one.
func (f *Faults) Add(bad bool, setting, format string, args ...any) {
	if bad {
		*f = append(*f, SettingError{Setting: setting, Err: fmt.Errorf(format, args...)})
	}
}

// NilPointer adds a fault if the value of a setting holds a pointer that is nil, and reports whether it
// does. Such a value is not nil itself, and panics when it is used. No value at all is no fault.
func (f *Faults) NilPointer(setting string, value any) bool {
	v := reflect.ValueOf(value)
	is := v.Kind() == reflect.Pointer && v.IsNil()
	f.Add(is, setting, "is a %T that is nil", value)
	return is
}

// Of adds what is wrong with the value of a setting, nothing if err is nil. Of an error of Err, of
// Wrap, or one that joins several, each is a fault. The settings of a nested configuration stand
// behind the name.
func (f *Faults) Of(setting string, err error) {
	switch all := err.(type) {
	case nil:
	case SettingError:
		*f = append(*f, SettingError{Setting: join(setting, all.Setting), Err: all.Err})
	case *invalid: // its cause is none of the faults
		for _, e := range all.faults {
			f.Of(setting, e)
		}
	case interface{ Unwrap() []error }:
		for _, e := range all.Unwrap() {
			f.Of(setting, e)
		}
	default:
		*f = append(*f, SettingError{Setting: setting, Err: err})
	}
}

// Err returns an error with all faults, nil if there are none. It prints a line for each. The name
// of the configuration stands before those of its settings, if it is not empty. errors.Is and
// errors.As find each SettingError and what it wraps.
func (f Faults) Err(of string) error {
	if len(f) == 0 {
		return nil
	}
	return &invalid{of: of, faults: f}
}

// Wrap returns an error with all faults that wraps cause as well, nil if there are none. It prints a
// line for each, and each begins with cause.
func (f Faults) Wrap(cause error) error {
	if len(f) == 0 {
		return nil
	}
	return &invalid{cause: cause, faults: f}
}

// Named returns the faults of an error of Err or Wrap, for a configuration that has the same
// settings under other names. Of another error it is the only one, without a name.
func Named(err error) Faults {
	var f Faults
	f.Of("", err)
	return f
}

// invalid is the error of Err and Wrap.
type invalid struct {
	of     string // of Err
	cause  error  // of Wrap, else nil
	faults Faults
}

// Error prints a line for each fault.
func (i *invalid) Error() string {
	lines := make([]string, len(i.faults))
	for n, f := range i.faults {
		lines[n] = SettingError{Setting: join(i.of, f.Setting), Err: f.Err}.Error()
		if i.cause != nil {
			lines[n] = i.cause.Error() + ": " + lines[n]
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults and, of Wrap, its cause behind them.
func (i *invalid) Unwrap() []error {
	errs := make([]error, len(i.faults), len(i.faults)+1)
	for n, f := range i.faults {
		errs[n] = f
	}
	if i.cause != nil {
		errs = append(errs, i.cause)
	}
	return errs
}

// join puts a dot between two names, unless one is empty.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "." + b
}
