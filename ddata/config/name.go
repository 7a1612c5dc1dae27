package config

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// NameMax bounds a name, in bytes.
const NameMax = 64

// CheckName finds what is wrong with a name: it is 1 to NameMax bytes of UTF-8.
func CheckName(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > NameMax:
		return fmt.Errorf("has %d bytes, more than %d", len(s), NameMax)
	case !utf8.ValidString(s):
		return errors.New("is not UTF-8")
	}
	return nil
}
