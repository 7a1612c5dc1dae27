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

// What one struct leaves zero, the other has; what is not exported stays the other's.
func TestOr(t *testing.T) {
	type settings struct {
		A, B int
		C    []string
		d    int
	}
	got := config.Or(settings{A: 1, C: []string{"x"}, d: 7}, settings{A: 2, B: 3, C: []string{"y"}, d: 8})
	if got.A != 1 || got.B != 3 || got.C[0] != "x" || got.d != 8 {
		t.Errorf("%+v", got)
	}
}
