// Command documents writes the blocks of Go in all documents anew, as their sources have them.
//
//	go -C proptest/documents run ./cmd/documents
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coterie-go/coterie/proptest/documents"
)

func main() {
	if err := rewrite("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// rewrite leaves a document as it is of which a block has no source.
func rewrite(root string) (failed error) {
	docs, err := documents.Load(root)
	if err != nil {
		return err
	}
	for _, d := range docs {
		out, err := d.Rewritten(root)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if bytes.Equal(out, d.Source) {
			continue
		}
		fmt.Println(d.Name)
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(d.Name)), out, 0o644); err != nil {
			return err
		}
	}
	return failed
}
