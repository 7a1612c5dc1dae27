// Command new makes a service of your own in a new directory: an entity that keeps its events, HTTP,
// tests, an image and manifests. It compiles and passes its tests.
//
//	go run ./examples/new shop /path/to/shop
//
// Without a path the directory is ../NAME, beside the checkout.
package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:embed all:templates
var templates embed.FS

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: new NAME [DIRECTORY]")
		os.Exit(2)
	}
	name := os.Args[1]
	dir := filepath.Join("..", name)
	if len(os.Args) == 3 {
		dir = os.Args[2]
	}
	if err := generate(os.Stdout, name, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// names are those that a module, an object of Kubernetes and an image may have.
var names = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

// values are what templates use.
type values struct {
	Name     string
	Env      string // begins the names of its environment variables
	Checkout string // of the library
	Go       string // the version of the language
}

// generate writes the service into a directory that is not there yet, or is empty.
func generate(out io.Writer, name, dir string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("%q is no name for a service: give up to 40 lower-case letters, digits and dashes", name)
	}
	if files, err := os.ReadDir(dir); err == nil && len(files) > 0 {
		return fmt.Errorf("%s is not empty: give another directory", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	const library = "github.com/coterie-go/coterie"
	found, err := exec.Command("go", "list", "-m", "-f", "{{.GoVersion}} {{.Dir}}", library).Output()
	if err != nil {
		return fmt.Errorf("run it in the checkout of the library: %w", err)
	}
	v := values{Name: name, Env: strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}
	v.Go, v.Checkout, _ = strings.Cut(strings.TrimSpace(string(found)), " ")
	if err := write(dir, v); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(v.Checkout, "go.sum"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)
	}
	if err != nil {
		return err
	}
	tidy := exec.Command("go", "mod", "tidy")
	tidy.Dir = dir
	if said, err := tidy.CombinedOutput(); err != nil {
		return fmt.Errorf("go mod tidy in %s: %w\n%s", dir, err, said)
	}
	fmt.Fprintf(out, "%s is made: cd %s && go test ./...\n", name, dir)
	return nil
}

// write fills in the templates.
func write(dir string, v values) error {
	return fs.WalkDir(templates, "templates", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel("templates", filepath.FromSlash(path))
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimSuffix(below, ".tmpl"))
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		t, err := template.ParseFS(templates, path)
		if err != nil {
			return err
		}
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		return errors.Join(t.Execute(f, v), f.Close())
	})
}
