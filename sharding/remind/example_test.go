package remind_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

// A store of one's own is called so, by the region that hosts a shard.
func ExampleStore() {
	ctx := context.Background()
	var store remind.Store = &memory.Store{}
	token, noon := sharding.FencingToken{Epoch: 2}, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	notice := remind.Reminder{
		Entity: "loan-17", Name: "overdue", Due: noon, At: noon, Every: time.Hour, Body: []byte{1}, Version: 1,
	}
	fmt.Println(notice.Check(), store.Update(ctx, token, 7, 1, []remind.Change{{Reminder: notice}}))

	due, next, err := store.Due(ctx, token, 7, noon.Add(time.Minute), 10)
	for _, r := range due {
		var key remind.Key = r.Key()
		fmt.Println(key, r.Due.Format(time.TimeOnly))
		again, _ := r.Next(noon.Add(time.Minute))
		fmt.Println("again at", again.Due.Format(time.TimeOnly))
	}
	fmt.Println(next.IsZero(), err)

	before := sharding.FencingToken{Epoch: 1} // of the region that hosted the shard before
	_, _, err = store.Due(ctx, before, 7, noon, 10)
	fmt.Println(errors.Is(err, remind.ErrFenced))
	// Output:
	// <nil> <nil>
	// "overdue" of "loan-17" 12:00:00
	// again at 13:00:00
	// true <nil>
	// true
}
