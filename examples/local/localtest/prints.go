package localtest

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Prints runs the program of an example, which must print want, spaces around it aside, and
// leave nothing running.
func Prints(t *testing.T, run func(out io.Writer) error, want string) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatalf("%v, after it has printed\n%s", err, &out)
	}
	if got := strings.TrimSpace(out.String()); got != strings.TrimSpace(want) {
		t.Errorf("it printed\n%s\nwant\n%s", got, strings.TrimSpace(want))
	}
}
