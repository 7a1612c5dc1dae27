package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coterie-go/coterie/bench/results"
)

func main() {
	in := flag.String("in", "", "the `file` that go run ./bench -json has written")
	beside := flag.String("peers", "", "a `file` that make peers has written; a missing one has no rows")
	out := flag.String("out", "", "the `directory` of the report; it is made if need be")
	flag.Parse()
	if *in == "" || *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*in, *beside, *out); err != nil {
		fmt.Fprintln(os.Stderr, "reporter:", err)
		os.Exit(1)
	}
}

func run(in, beside, out string) error {
	f, err := read(in)
	if err != nil {
		return err
	}
	p, err := readPeers(beside)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var errs []error
	drawn := map[string]bool{}
	for _, b := range benchesOf(f) {
		svg, err := b.plot()
		if err == nil && svg != nil {
			err = os.WriteFile(filepath.Join(out, b.file()), svg, 0o644)
			drawn[b.name] = err == nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.name, err))
		}
	}
	errs = append(errs, os.WriteFile(filepath.Join(out, "README.md"), []byte(page(f, drawn, p)), 0o644))
	return errors.Join(errs...)
}

func read(name string) (results.File, error) {
	r, err := os.Open(name)
	if err != nil {
		return results.File{}, err
	}
	defer r.Close()
	f, err := results.ReadJSON(r)
	switch {
	case err != nil:
		return f, fmt.Errorf("%s is no result of bench -json: %w", name, err)
	case len(f.Cases) == 0:
		return f, fmt.Errorf("%s has no case", name)
	}
	return f, nil
}
