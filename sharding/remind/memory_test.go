package remind_test

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/remindtest"
)

func TestMemory(t *testing.T) {
	remindtest.Run(t, func(testing.TB) (a, b remind.Store) {
		m := &remind.Memory{}
		return m, m
	})
}
