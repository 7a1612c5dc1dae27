package locks

import (
	"fmt"
	"unicode/utf8"
)

// CheckName says what is wrong with the name of a lease. Implementations refuse with it.
func CheckName(name string) error {
	if name == "" || len(name) > NameMax || !utf8.ValidString(name) {
		return fmt.Errorf("%w: %q: give 1 to %d bytes of UTF-8", ErrBadName, name, NameMax)
	}
	return nil
}

// CheckRecord says what is wrong with a record. Implementations refuse with it.
func CheckRecord(record []byte) error {
	if len(record) > RecordMax {
		return fmt.Errorf("%w: %d bytes, more than %d", ErrTooLarge, len(record), RecordMax)
	}
	return nil
}
