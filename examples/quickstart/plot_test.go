package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// drawn wants a plot to be well-formed, to move, and to show each act of the demo.
func drawn(t *testing.T, plot []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(plot)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, plot)
		}
	}
	for _, want := range []string{
		"three nodes start", "a fourth node joins", "kill -9 of node", "all processes stop", "all start again",
		"answers/s", "<animateTransform", "node 4",
	} {
		if !strings.Contains(string(plot), want) {
			t.Errorf("the plot does not show %q", want)
		}
	}
}

// The plot in the repository was drawn by this program.
func TestThePlotOfTheReadme(t *testing.T) {
	plot, err := os.ReadFile("demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	drawn(t, plot)
}

// Answers are counted by the step in which they came, over processes that start anew.
func TestPoints(t *testing.T) {
	begin := time.UnixMilli(1_000_000)
	at := func(ms int64, answered uint64, running int) sample { return sample{1_000_000 + ms, answered, running} }
	h := history{marks: []moment{{begin, "a & b"}}, end: begin.Add(700 * time.Millisecond)}
	h.nodes[0] = []sample{at(-10, 5, 9), at(100, 10, 8), at(200, 15, 7), at(600, 4, 1)}
	h.nodes[2] = []sample{at(300, 25, 3)}
	answers, running := h.points()
	if want := []float64{40, 100, 16}; !slices.Equal(answers, want) {
		t.Errorf("%v answers per second, want %v", answers, want)
	}
	if want := [][nodesMax]int{{7, 0, 0, 0}, {0, 0, 3, 0}, {1, 0, 0, 0}}; !slices.Equal(running, want) {
		t.Errorf("%v entities run, want %v", running, want)
	}
	if svg := string(h.svg()); !strings.Contains(svg, "a &amp; b") {
		t.Errorf("a mark is missing in %s", svg)
	}
}
