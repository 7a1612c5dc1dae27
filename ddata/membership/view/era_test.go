package view

import (
	"testing"
	"time"
)

func TestEraOfAClock(t *testing.T) {
	for now, want := range map[time.Time]Era{ // order: each is tried by itself
		time.Unix(2, 3_000_000): 2003, time.Unix(0, 0): 0, time.Unix(-5, 0): 0, {}: 0,
	} {
		if got := EraAt(now); got != want {
			t.Errorf("%v: %d, want %d", now, got, want)
		}
	}
}
