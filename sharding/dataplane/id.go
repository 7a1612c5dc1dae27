package dataplane

import (
	"fmt"
	"unicode/utf8"

	"github.com/coterie-go/coterie/sharding/failure"
)

// idMax is how many bytes an id has.
const idMax = 512

// CheckID accepts 1 to 512 bytes of UTF-8.
func CheckID(id string) error {
	if id == "" {
		return fmt.Errorf("%w: it is empty", failure.ErrInvalidID)
	}
	if len(id) > idMax {
		return fmt.Errorf("%w: it has %d bytes, the limit is %d", failure.ErrInvalidID, len(id), idMax)
	}
	if !utf8.ValidString(id) {
		return fmt.Errorf("%w: %q is not UTF-8", failure.ErrInvalidID, id)
	}
	return nil
}
