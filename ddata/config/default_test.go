package config_test

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/config"
)

// A field that is set stays as it is.
func TestDefault(t *testing.T) {
	zero, set := 0, -1
	config.Default(&zero, 7)
	config.Default(&set, 7)
	if zero != 7 || set != -1 {
		t.Errorf("%d and %d", zero, set)
	}
}
