package browser

import (
	"errors"

	"github.com/coterie-go/coterie/proptest/program"
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

// Chromium is the browser.
var Chromium = program.Program{
	Names: []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"},
	Bin:   BinVariable, Require: RequireVariable, Missing: ErrMissing,
}
