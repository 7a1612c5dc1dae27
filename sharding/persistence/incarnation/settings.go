package incarnation

import (
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
)

// Fit is the settings of the calls of a type with Timeouts. What fails or hangs in the store is given
// up before an asker gives up, so that the asker gets the store's error. Defaults are shorter where
// Timeouts.Ask is. A GiveUpAfter that is set, and is not below it, is a fault.
func Fit(s batch.Settings, t sharding.Timeouts, f *config.Faults) batch.Settings {
	ask := t.WithDefaults().Ask
	if ask <= 0 {
		return s.WithDefaults() // a fault of the type, which its start reports
	}
	config.Default(&s.GiveUpAfter, max(min(s.WithDefaults().GiveUpAfter, ask/5*4), s.CallTimeout))
	f.Add(s.GiveUpAfter >= ask, "Calls.GiveUpAfter",
		"%v is not below Timeouts.Ask of the type, %v: an asker would get a time-out in place of the store's error",
		s.GiveUpAfter, ask)
	return s.WithDefaults()
}
