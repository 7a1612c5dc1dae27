package postgrestest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// Environment variables of the package.
const (
	// BinVariable names the folder of initdb and postgres, if they are not in one of the usual ones.
	BinVariable = "COTERIE_POSTGRES_BIN"
	// RequireVariable makes it a failure that the programs are missing: 1 to require them.
	RequireVariable = "COTERIE_REQUIRE_POSTGRES"
)

// ErrMissing: no installation of PostgreSQL was found.
var ErrMissing = errors.New("postgrestest: initdb and postgres were not found; install PostgreSQL, " +
	"or name their folder in " + BinVariable)

// Required reports whether tests must fail when there is no PostgreSQL.
func Required() bool { return os.Getenv(RequireVariable) == "1" }

// Find returns the folder of initdb and postgres: that of BinVariable, else that of the path, else
// the newest of the usual ones.
func Find() (string, error) {
	if dir := os.Getenv(BinVariable); dir != "" {
		if !holdsServer(dir) {
			return "", fmt.Errorf("%w: %s names %s, which does not hold both", ErrMissing, BinVariable, dir)
		}
		return dir, nil
	}
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil && holdsServer(filepath.Dir(p)) {
			return filepath.Dir(p), nil
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin",
	} {
		dirs, _ := filepath.Glob(pattern) // the pattern is sound
		slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
		for _, dir := range dirs {
			if holdsServer(dir) {
				return dir, nil
			}
		}
	}
	return "", ErrMissing
}

func holdsServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if i, err := os.Stat(filepath.Join(dir, name)); err != nil || i.IsDir() {
			return false
		}
	}
	return true
}

// version reads the number in the folder above a folder of programs: 0 for none.
func version(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	return n
}
