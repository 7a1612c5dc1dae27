package doc_test

import (
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// watched is the configuration of a new build for as long as the way back to the old one shall be open.
// It writes what the old build reads.
func watched(c ddata.Config, oldLevel format.Level) ddata.Config {
	c.FormatMax = oldLevel
	return c
}

// All nodes run the new build and are watched. Then they are restarted one by one without FormatMax.
func TestUpgrade(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		newest := format.Build().Max
		oldLevel := newest - 1
		watching := true
		var raised atomic.Uint32 // the level of the last event
		c := ddatatest.NewCluster(t, 3, func(_ int, cfg *ddata.Config) {
			if watching {
				*cfg = watched(*cfg, oldLevel)
			}
			cfg.OnEvent = func(e events.Event) {
				if e, is := e.(events.FormatRaised); is {
					raised.Store(uint32(e.View.Format))
				}
			}
		})
		level := func() format.Level { return c.Node(0).View().Format }
		watching = false
		for i := range c.Len() {
			if got := level(); got != oldLevel || raised.Load() != 0 {
				t.Errorf("before node %d is restarted the level is %d, and %d was told", i, got, raised.Load())
			}
			c.Leave(i)
			c.Restart(i)
			c.AwaitMembers(3)
		}
		if level() != newest || raised.Load() != uint32(newest) {
			t.Errorf("at the end the level is %d, and %d was told", level(), raised.Load())
		}
	})
}
