package browser

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Environment variables of the package.
const (
	// BinVariable names the browser, if it is not in the path.
	BinVariable = "COTERIE_CHROMIUM_BIN"
	// RequireVariable makes it a failure that the browser is missing: 1 to require it.
	RequireVariable = "COTERIE_REQUIRE_CHROMIUM"
)

// ErrMissing: no Chromium was found.
var ErrMissing = errors.New("browser: chromium was not found; install it (package chromium of Debian), or name " +
	"the program in " + BinVariable)

// Required reports whether tests must fail when there is no Chromium.
func Required() bool { return os.Getenv(RequireVariable) == "1" }

// Find returns the browser: that of BinVariable, else that of the path.
func Find() (string, error) {
	if bin := os.Getenv(BinVariable); bin != "" {
		if p, err := exec.LookPath(bin); err == nil {
			return p, nil
		}
		return "", fmt.Errorf("%w: %s names %s, which is no program", ErrMissing, BinVariable, bin)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", ErrMissing
}
