package program

import (
	"fmt"
	"os"
	"os/exec"
)

// Program is one that a machine may lack.
type Program struct {
	Names   []string // under which the path may have it
	Bin     string   // environment variable that names it, if it is not in the path
	Require string   // environment variable that makes it a failure that it is missing: 1 to require it
	Missing error    // what Find returns, or wraps, if it was not found
}

// Required reports whether tests must fail when it is missing.
func (p Program) Required() bool { return os.Getenv(p.Require) == "1" }

// Find returns the program that the variable Bin names, else that of the path.
func (p Program) Find() (string, error) {
	if bin := os.Getenv(p.Bin); bin != "" {
		if found, err := exec.LookPath(bin); err == nil {
			return found, nil
		}
		return "", fmt.Errorf("%w: %s names %s, which is no program", p.Missing, p.Bin, bin)
	}
	for _, name := range p.Names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", p.Missing
}
