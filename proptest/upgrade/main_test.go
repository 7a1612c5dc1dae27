package upgrade

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/proptest/nodetest"
)

func TestMain(m *testing.M) {
	nodetest.Main(map[string]nodetest.Program{program: start})
	goleak.VerifyTestMain(m)
}
