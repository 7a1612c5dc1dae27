package etcdtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Environment variables of the package.
const (
	// BinVariable names the program etcd, if it is not in the path.
	BinVariable = "COTERIE_ETCD_BIN"
	// RequireVariable makes it a failure that the program is missing: 1 to require it.
	RequireVariable = "COTERIE_REQUIRE_ETCD"
)

// ErrMissing: no etcd was found.
var ErrMissing = errors.New("etcdtest: etcd was not found; install it (package etcd-server of Debian), or name " +
	"the program in " + BinVariable)

// Required reports whether tests must fail when there is no etcd.
func Required() bool { return os.Getenv(RequireVariable) == "1" }

// Find returns the program etcd: that of BinVariable, else that of the path.
func Find() (string, error) {
	if bin := os.Getenv(BinVariable); bin != "" {
		if p, err := exec.LookPath(bin); err == nil {
			return p, nil
		}
		return "", fmt.Errorf("%w: %s names %s, which is no program", ErrMissing, BinVariable, bin)
	}
	if p, err := exec.LookPath("etcd"); err == nil {
		return p, nil
	}
	return "", ErrMissing
}
