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

func TestItRuns(t *testing.T) {
	if err := run("127.0.0.1:0", nil, t.TempDir()); err != nil {
		t.Fatal(err)
	}
}
