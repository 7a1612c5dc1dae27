package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"time"
)

// history is what the plot shows: samples of each node, and what the demo did.
type history struct {
	nodes [nodesMax][]sample
	marks []moment
	end   time.Time
}

// step is the time between two points of the plot.
const step = 250 * time.Millisecond

// Places of the plot, in pixels.
const (
	plotWidth, plotHeight = 860, 400
	left, right           = 60, 840
	labels                = 84 // below it the panels begin
	answersTop, answersAt = 96, 236
	runningTop, runningAt = 256, 356
)

// inks are the colours of the nodes; readers that see few colours can tell them apart.
var inks = [nodesMax]string{"#0b5fa5", "#e08214", "#4d9221", "#8e4585"}

// points are the answers per second of all nodes, and the entities that run on each, step by step
// from the first mark on.
func (h history) points() (answers []float64, running [][nodesMax]int) {
	from := h.marks[0].at.UnixMilli()
	n := int(h.end.UnixMilli()-from)/int(step.Milliseconds()) + 1
	answers, running = make([]float64, n), make([][nodesMax]int, n)
	for node, samples := range h.nodes {
		before := uint64(0)
		for _, s := range samples {
			i := int(s.At-from) / int(step.Milliseconds())
			if s.Answered < before { // another process
				before = 0
			}
			if s.At >= from && i < n {
				answers[i] += float64(s.Answered-before) / step.Seconds()
				running[i][node] = s.Running
			}
			before = s.Answered
		}
	}
	return answers, running
}

// svg draws the plot. A veil moves over it, so that it plays as fast as the demo did; what draws no
// motion shows all of it.
func (h history) svg() []byte {
	var b bytes.Buffer
	answers, running := h.points()
	seconds := float64(len(answers)) * step.Seconds()
	x := func(s float64) float64 { return left + (right-left)*s/seconds }
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+
		"\n<title>make demo: answers per second, and where the counters run</title>\n"+
		`<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", plotWidth, plotHeight, plotWidth, plotHeight)
	most := 1.0
	for _, a := range answers {
		most = max(most, a)
	}
	h.axes(&b, most, seconds, x)
	ceiling := nice(most)
	area(&b, inks[0], 0.85, len(answers), x, func(i int) (low, high float64) {
		return answersAt, answersAt - (answersAt-answersTop)*answers[i]/ceiling
	})
	for node := range nodesMax {
		area(&b, inks[node], 0.85, len(running), x, func(i int) (low, high float64) {
			below := 0
			for _, n := range running[i][:node] {
				below += n
			}
			at := func(n int) float64 { return runningAt - float64((runningAt-runningTop)*n)/entities }
			return at(below), at(below + running[i][node])
		})
	}
	h.labels(&b, x)
	fmt.Fprintf(&b, `<g><rect x="%d" y="%d" width="%d" height="%d" fill="#ffffff" opacity="0.7"/>`+
		`<path d="M%d %dV%d" stroke="#000000"/>`+
		`<animateTransform attributeName="transform" type="translate" from="%d 0" to="0 0" dur="%.0fs" `+
		`repeatCount="indefinite"/></g>`+"\n</svg>\n",
		right, labels, right-left, runningAt-labels, right, labels, runningAt, left-right, seconds)
	return b.Bytes()
}

// axes draws the two panels and what they count.
func (h history) axes(b *bytes.Buffer, most, seconds float64, x func(float64) float64) {
	ceiling := nice(most)
	for _, a := range []struct {
		y    float64
		text string
	}{
		{answersAt, "0"}, {(answersAt + answersTop) / 2, short(ceiling / 2)}, {answersTop, short(ceiling)},
		{runningAt, "0"}, {runningTop, fmt.Sprint(entities)},
	} {
		fmt.Fprintf(b, `<path d="M%d %.0fH%d" stroke="#dddddd"/><text x="%d" y="%.0f" text-anchor="end" fill="#444444">`+
			"%s</text>\n", left, a.y, right, left-6, a.y+4, a.text)
	}
	fmt.Fprintf(b, `<text x="14" y="%d" transform="rotate(-90 14 %d)" text-anchor="middle">answers/s</text>`+"\n",
		(answersAt+answersTop)/2, (answersAt+answersTop)/2)
	fmt.Fprintf(b, `<text x="14" y="%d" transform="rotate(-90 14 %d)" text-anchor="middle">counters</text>`+"\n",
		(runningAt+runningTop)/2, (runningAt+runningTop)/2)
	for s := 0.0; s <= seconds; s += 5 {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#444444">%.0f s</text>`+"\n", x(s), runningAt+16, s)
	}
	for node := range nodesMax {
		at := left + 90*node
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="10" height="10" fill="%s"/><text x="%d" y="%d">node %d</text>`+"\n",
			at, plotHeight-16, inks[node], at+14, plotHeight-7, node+1)
	}
}

// labels draws what the demo did, each above its moment.
func (h history) labels(b *bytes.Buffer, x func(float64) float64) {
	for i, m := range h.marks {
		at := x(m.at.Sub(h.marks[0].at).Seconds())
		row := labels - 4 - 16*(len(h.marks)-1-i)
		side, by := "start", 4.0
		if at > (left+right)/2 {
			side, by = "end", -4
		}
		fmt.Fprintf(b, `<path d="M%.1f %dV%d" stroke="#444444" stroke-dasharray="3 3"/><text x="%.1f" y="%d" `+
			`text-anchor="%s">`, at, row-10, runningAt, at+by, row, side)
		_ = xml.EscapeText(b, []byte(m.text)) // a buffer takes everything
		b.WriteString("</text>\n")
	}
}

// area fills what is between two lines.
func area(b *bytes.Buffer, ink string, opacity float64, n int, x func(float64) float64,
	between func(i int) (low, high float64)) {
	fmt.Fprintf(b, `<path fill="%s" opacity="%.2f" d="M`, ink, opacity)
	for i := range n {
		_, high := between(i)
		fmt.Fprintf(b, "%.1f %.1f ", x(float64(i)*step.Seconds()), high)
	}
	for i := n - 1; i >= 0; i-- {
		low, _ := between(i)
		fmt.Fprintf(b, "%.1f %.1f ", x(float64(i)*step.Seconds()), low)
	}
	b.WriteString("Z\"/>\n")
}

// nice is the next round number.
func nice(n float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(n)))
	return math.Ceil(n/unit) * unit
}

// short writes thousands as k.
func short(n float64) string {
	if n >= 1000 {
		return fmt.Sprintf("%gk", n/1000)
	}
	return fmt.Sprintf("%g", n)
}
