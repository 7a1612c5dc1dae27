package browser

import (
	"errors"
	"testing"
)

// What a machine without Chromium does not try is said here, once; make modules prints it.
func TestFind(t *testing.T) {
	bin, err := Chromium.Find()
	switch {
	case err == nil:
		t.Log("chromium is ", bin)
	case errors.Is(err, ErrMissing) && !Chromium.Required():
		t.Skip("NOT TRIED: the page of the console in a browser.", err) // skip: the machine may lack Chromium
	default:
		t.Fatal(err)
	}
}

// A program that a variable names is not looked for elsewhere.
func TestFindWhereTheVariableSays(t *testing.T) {
	t.Setenv(BinVariable, t.TempDir())
	if bin, err := Chromium.Find(); !errors.Is(err, ErrMissing) {
		t.Errorf("found %q: %v", bin, err)
	}
}
