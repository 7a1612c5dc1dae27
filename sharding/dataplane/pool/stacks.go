package pool

import (
	"bytes"
	"runtime"
	"strings"
)

const (
	stacksMax = 4 << 20 // bytes of all stacks, which stop the process while they are written
	stackMax  = 8 << 10 // bytes of one stack that is told of
)

// allStacks writes the stacks of all goroutines, as many as fit.
func allStacks() []byte {
	for size := 64 << 10; ; size *= 4 {
		b := make([]byte, min(size, stacksMax))
		if n := runtime.Stack(b, true); n < len(b) || len(b) == stacksMax {
			return b[:n]
		}
	}
}

// goroutineID is what stacks call this goroutine.
func goroutineID() string {
	var b [64]byte
	text, _ := strings.CutPrefix(string(b[:runtime.Stack(b[:], false)]), "goroutine ")
	id, _, _ := strings.Cut(text, " ")
	return id
}

// stackOf cuts the stack of one goroutine out of all; empty: it is not among them.
func stackOf(all []byte, goroutine string) string {
	begin := []byte("goroutine " + goroutine + " [")
	at := 0
	if !bytes.HasPrefix(all, begin) {
		if at = bytes.Index(all, append([]byte("\n\n"), begin...)); at < 0 {
			return ""
		}
		at += 2
	}
	stack, _, _ := bytes.Cut(all[at:], []byte("\n\n"))
	return string(stack[:min(len(stack), stackMax)])
}
