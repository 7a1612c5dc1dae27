package memory_test

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
	"github.com/coterie-go/coterie/sharding/remind/remindtest"
)

func TestLaws(t *testing.T) {
	remindtest.Run(t, func(testing.TB) (a, b remind.Store) {
		m := &memory.Store{}
		return m, m
	})
}
