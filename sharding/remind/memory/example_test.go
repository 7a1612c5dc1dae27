package memory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// Reminders of a type under test, whose store fails when the test wants.
func ExampleStore() {
	store := &memory.Store{}
	setting := sharding.Reminders{Enabled: true, Store: store} // of a sharding.EntityType

	store.Before(func(_ context.Context, call string) error { return errors.New(call + " fails") })
	_, _, err := setting.Store.Due(context.Background(), sharding.FencingToken{Epoch: 1}, 0, time.Now(), 1)
	fmt.Println(err)
	// Output: Due fails
}
