package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// sample is what a node writes down at a moment, for the plot.
type sample struct {
	At       int64  `json:"at"`       // in milliseconds of Unix time
	Answered uint64 `json:"answered"` // increments, since the process has started
	Running  int    `json:"running"`  // entities in this process
}

// envSamples is the file to which a node adds its samples; none are written without it.
const envSamples = "QUICKSTART_SAMPLES"

const sampleEvery = step / 5

// record writes samples until stop is closed. Each is one write, so that a kill leaves whole lines.
// All nodes take theirs at the same moments, so that a counter that moves is not seen twice.
func (x *node) record(out *os.File, stop <-chan struct{}) {
	defer out.Close()
	for {
		select {
		case <-stop:
			return
		case at := <-time.After(time.Until(time.Now().Truncate(sampleEvery).Add(sampleEvery))):
			line, err := json.Marshal(sample{at.UnixMilli(), x.traffic.answered(), len(x.counters.ids())})
			if err == nil {
				_, err = out.Write(append(line, '\n'))
			}
			if err != nil {
				return // the plot has a gap
			}
		}
	}
}

// moment is what the demo did at a moment.
type moment struct {
	at   time.Time
	text string
}

// note says what the demo does now, and keeps it for the plot.
func (d *demo) note(short, format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	d.marks = append(d.marks, moment{time.Now(), short})
}

// samplesOf is the file of node i.
func (d *demo) samplesOf(i int) string { return filepath.Join(d.dir, fmt.Sprintf("samples-%d", i+1)) }

// draw makes the plot of the whole demo.
func (d *demo) draw() error {
	h := history{end: time.Now(), marks: d.marks}
	for i := range nodesMax {
		samples, err := readSamples(d.samplesOf(i))
		if err != nil {
			return err
		}
		h.nodes[i] = samples
	}
	return os.WriteFile(d.plot, h.svg(), 0o644)
}

func readSamples(name string) (out []sample, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, s)
	}
	return out, lines.Err()
}
