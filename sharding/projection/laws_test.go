package projection_test

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/projection"
	"github.com/coterie-go/coterie/sharding/projection/projectiontest"
)

func TestMemoryLaws(t *testing.T) {
	projectiontest.Run(t, func(*testing.T) (a, b projection.Offsets) {
		m := &projection.Memory{}
		return m, m
	})
}
