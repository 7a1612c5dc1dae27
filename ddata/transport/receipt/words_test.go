package receipt

import "testing"

// A receiver that says more of the end than it may loses its connection, and says nothing with it.
func TestWordsOfTheEnd(t *testing.T) {
	e := NewEnding()
	if e.IsAsked() || !e.Hear(EndAsked) || !e.IsAsked() {
		t.Error("a first wish to end is not taken")
	}
	if e.Hear(EndAsked) || e.Known() {
		t.Error("a second one is")
	}
	if e.Hear(AllReceived) || !e.Known() {
		t.Error("the last word is not taken")
	}
}
