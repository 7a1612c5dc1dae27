package documents

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// storyMax is how many lines a package comment has at most.
const storyMax = 60

// Stories looks for package comments that are too long.
func Stories(root string) (findings []string, err error) {
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && (strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata"):
			return fs.SkipDir
		case e.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil,
			parser.PackageClauseOnly|parser.ParseComments)
		if err != nil || f.Doc == nil {
			return err
		}
		if n := strings.Count(strings.TrimSpace(f.Doc.Text()), "\n") + 1; n > storyMax {
			findings = append(findings, fmt.Sprintf("%s: a package comment of %d lines, at most %d: move tables and "+
				"proofs to a document beside it", name, n, storyMax))
		}
		return nil
	})
	return findings, err
}
