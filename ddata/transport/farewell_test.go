package transport

import "testing"

// A receiver that says more of the end than it may loses its connection, and says nothing with it.
func TestWordsOfTheEnd(t *testing.T) {
	e := &ending{asked: make(chan struct{})}
	if e.isAsked() || !e.hear(endAsked) || !e.isAsked() {
		t.Error("a first wish to end is not taken")
	}
	if e.hear(endAsked) || e.known {
		t.Error("a second one is")
	}
	if e.hear(allReceived) || !e.known {
		t.Error("the last word is not taken")
	}
}
