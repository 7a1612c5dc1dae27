package memory_test

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
	"github.com/coterie-go/coterie/sharding/remind/remindtest"
)

func TestLaws(t *testing.T) {
	open := func(testing.TB) (a, b remind.Store) {
		m := &memory.Store{}
		return m, m
	}
	remindtest.Run(t, open)
	remindtest.RunFenced(t, open)
}
