// Command traceview makes one page of the stories of nodes.
//
//	traceview -o page.html n1.jsonl n2.jsonl n3.jsonl
//
// The files are those of ddata/tracing/recorder, or what sim -story writes. Each is the story of one node, in
// order; they are merged by the clocks of the nodes and by the messages between them. With a file, the one
// beside it that has what was written before is read first (recorder.OlderSuffix). A file that ends within a
// line, as that of a node that was killed, is shown as far as it goes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"

	"github.com/coterie-go/coterie/ddata/tracing/recorder"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
)

func main() {
	out := flag.String("o", "story.html", "the page to write")
	title := flag.String("title", "", "what the page is about")
	most := flag.Int("records", story.LogMax, "show so many steps and messages, the last ones, and as many others")
	flag.Parse()
	if err := run(*out, *title, *most, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "traceview:", err)
		os.Exit(1)
	}
}

func run(out, title string, most int, files []string) error {
	if len(files) == 0 {
		return errors.New("name the files with the stories of nodes")
	}
	var stories [][]story.Record
	for _, name := range files {
		told, err := read(name)
		if err != nil {
			return err
		}
		stories = append(stories, told)
	}
	log := story.NewLog(most)
	for _, r := range story.Merge(stories...) {
		log.Record(r)
	}
	if title == "" {
		title = fmt.Sprintf("the story of %d nodes", len(files))
	}
	return viewer.Page{Title: title, Records: log.Records(), Left: log.Left()}.WriteFile(out)
}

// read returns the story of a node.
func read(name string) (told []story.Record, err error) {
	older, err := readFile(name + recorder.OlderSuffix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	newer, err := readFile(name)
	return append(older, newer...), err
}

func readFile(name string) (told []story.Record, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for r, err := range story.Read(f) {
		if err != nil {
			fmt.Fprintf(os.Stderr, "traceview: %s: %v; %d records are shown\n", name, err, len(told))
			break
		}
		told = append(told, r)
	}
	return told, nil
}
