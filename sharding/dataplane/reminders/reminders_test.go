package reminders

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a store whose changes wait until it is open.
type gate struct {
	*memory.Store
	open chan struct{}
}

func (g gate) Update(
	ctx context.Context, by singleton.FencingToken, s protocol.ShardID, number uint64, changes []remind.Change,
) error {
	<-g.open
	return g.Store.Update(ctx, by, s, number, changes)
}

// Each call of Flush is answered: when what was under way at the time is written, or when the shard
// ends here.
func TestFlush(t *testing.T) {
	for how, end := range map[string]func(r *Reminders, s *entities.Shard, g gate){
		"written":         func(_ *Reminders, _ *entities.Shard, g gate) { close(g.open) },
		"the shard ended": func(r *Reminders, s *entities.Shard, _ gate) { r.Close(s) },
	} {
		t.Run(how, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g := gate{&memory.Store{}, make(chan struct{})}
				r := New(Config{
					Type: "T", Store: g, Scheduler: scheduler.Goroutines{}, Context: t.Context(),
					Read: time.Minute, Write: time.Minute, Note: func(protocol.Event) {},
					Aside:   func(fn func()) bool { go fn(); return true },
					ShardOf: func(string) uint32 { return 1 },
				})
				r.Start()
				defer r.Stop()
				s := &entities.Shard{Number: 1}
				r.Open(s)
				q := r.ask(s, remind.Change{Reminder: remind.Reminder{
					Entity: "a", Name: "n", Due: time.Now().Add(time.Hour), At: time.Now().Add(time.Hour), Version: 1,
				}})
				answers := make(chan int, 3)
				for i := range 2 {
					r.Flush(s, func() { answers <- i })
				}
				synctest.Wait()
				if len(answers) > 0 {
					t.Fatal("Flush is answered while a change is under way")
				}
				end(r, s, g)
				synctest.Wait()
				r.Flush(s, func() { answers <- 2 })
				synctest.Wait()
				if len(answers) != 3 {
					t.Errorf("%d of 3 calls are answered", len(answers))
				}
				<-q.answered
				if how != "written" {
					close(g.open)
				}
			})
		})
	}
}
