package main

import (
	"os"
	"strings"
	"testing"
)

// The README shows this program, letter by letter.
func TestTheReadmeShowsThisProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	shown, _, _ := strings.Cut(rest, "```\n")
	if shown != string(program) {
		t.Error("the README's first block of Go is not examples/start/main.go")
	}
}

// TestTheCartIsThereAfterARestart starts the program twice on one directory: the second run finds
// what the first one put into the cart.
func TestTheCartIsThereAfterARestart(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []int{2, 4} {
		total, err := run("127.0.0.1:0", nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		if total != want {
			t.Errorf("the cart holds %d, want %d", total, want)
		}
	}
}
