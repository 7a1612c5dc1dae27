package incarnation

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
)

// Adopt makes a type ready for a behavior, which makes its entities and names its stores: the type's Supervision gets
// an answer for Failure, and the calls get settings that fit its Timeouts. What the behavior makes must not be set;
// a fault is an error of the kind invalid, and changes nothing.
func Adopt[M any](t *sharding.EntityType[M], calls *batch.Settings, invalid error) error {
	switch {
	case t.New != nil:
		return fmt.Errorf("%w: New is set, but the behavior makes the entities", invalid)
	case len(t.StateStores) > 0:
		return fmt.Errorf("%w: StateStores is set, but the behavior names its stores", invalid)
	}
	var f config.Faults
	fitting := fit(*calls, t.Timeouts, &f)
	if err := f.Wrap(invalid); err != nil {
		return err
	}
	*calls, t.Supervision = fitting, supervise(t.Supervision)
	return nil
}

// fit is the settings of the calls of a type with Timeouts. What fails or hangs in the store is given
// up before an asker gives up, so that the asker gets the store's error. Defaults are shorter where
// Timeouts.Ask is. A GiveUpAfter that is set, and is not below it, is a fault.
func fit(s batch.Settings, t sharding.Timeouts, f *config.Faults) batch.Settings {
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
