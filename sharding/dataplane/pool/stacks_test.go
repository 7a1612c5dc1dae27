package pool

import "testing"

// A stack is found by the whole number of its goroutine, wherever it stands.
func TestStackOf(t *testing.T) {
	all := []byte("goroutine 1 [running]:\na\n\ngoroutine 71 [running]:\nb\n\ngoroutine 7 [select]:\nc\n")
	for id, want := range map[string]string{
		"1": "goroutine 1 [running]:\na", "7": "goroutine 7 [select]:\nc\n", "8": "",
	} {
		if got := stackOf(all, id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}
