package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// watching is how a person watches a seed.
type watching struct {
	verbose     bool
	tail        int
	html, lines string // files; empty: none
	records     int    // of the files: so many steps and messages, the last ones; 0: story.LogMax

	last *trace.Tail
	log  *story.Log
}

// begin returns what the run is told to; nil: nothing.
func (w *watching) begin() trace.Watcher {
	var all trace.Watchers
	switch {
	case w.verbose:
		all = append(all, trace.NewPrinter(os.Stdout))
	case w.tail > 0:
		w.last = trace.NewTail(w.tail)
		all = append(all, w.last)
	}
	if w.html != "" || w.lines != "" {
		w.log = story.NewLog(w.records)
		all = append(all, w.log)
	}
	if all == nil {
		return nil
	}
	return all
}

// end prints and writes what is wanted of the run.
func (w *watching) end(r sim.Result, plan options.Plan) error {
	if w.last != nil {
		w.last.Print(os.Stdout)
	}
	if w.log == nil {
		return nil
	}
	page := viewer.Page{
		Title: fmt.Sprintf("seed %d", r.Seed), Replay: sim.Replay(r.Seed, plan), Records: w.log.Records(),
		Left: w.log.Left(),
	}
	if r.Violation != nil {
		page.Title += ": " + r.Violation.Check
	}
	var errs []error
	if w.html != "" {
		errs = append(errs, page.WriteFile(w.html))
	}
	if w.lines != "" {
		errs = append(errs, writeLines(w.lines, page.Records))
	}
	return errors.Join(errs...)
}

// writeLines writes records to a file, as lines of JSON.
func writeLines(path string, records []story.Record) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(story.Write(f, records), f.Close())
}
