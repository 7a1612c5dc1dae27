package sharding

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
)

// diary is what entities have handled, and when: the times count from the first message. A tell of a
// world may wait for the coordinator's term, so they do not count from the tell.
type diary struct {
	mu    sync.Mutex
	begun chan struct{} // closed at the first message
	began time.Time
	lines []string
}

func (d *diary) note(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v %s", time.Since(d.began), what))
}

func (d *diary) want(t *testing.T, lines ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.lines, lines) {
		t.Errorf("handled was %q, want %q", d.lines, lines)
	}
}

// entity calls on for each message. The diary begins with the first one.
func (d *diary) entity(on func(c *Context[message_], m message_) error) Entity[message_] {
	return receiveFunc(func(c *Context[message_], m message_) error {
		d.begin()
		return on(c, m)
	})
}

func (d *diary) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.began.IsZero() {
		d.began = time.Now()
		close(d.begun)
	}
}

// timing is a type whose entities note the texts that they get. on handles the others.
func timing(d *diary, on func(c *Context[message_], m message_) error) EntityType[message_] {
	typ := cartType(&cartLog{})
	d.begun = make(chan struct{})
	typ.New = func(*Context[message_]) Entity[message_] {
		return d.entity(func(c *Context[message_], m message_) error {
			if e, is := m.(echo); is {
				d.note(e.Text)
				return nil
			}
			return on(c, m)
		})
	}
	return typ
}

func tell(t *testing.T, g *Region[message_], m message_) {
	t.Helper()
	if err := g.Tell(t.Context(), "a", m); err != nil {
		t.Fatal(err)
	}
}

// tellFirst tells an entity of the diary its first message, and waits until it is handled.
func (d *diary) tellFirst(t *testing.T, g *Region[message_], m message_) {
	t.Helper()
	tell(t, g, m)
	<-d.begun
	synctest.Wait()
}

func mustAfter(c *Context[message_], d time.Duration, text string) *Timer {
	timer, err := c.After(d, echo{Text: text})
	if err != nil {
		panic(err)
	}
	return timer
}

// Messages come at their times, each once, and not if they were stopped before.
func TestAfter(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d diary
		var timers []*Timer
		g, _ := localRegion(t, timing(&d, func(c *Context[message_], _ message_) error {
			timers = append(timers, mustAfter(c, 3*time.Second, "third"), mustAfter(c, time.Second, "first"),
				mustAfter(c, 2*time.Second, "second"), mustAfter(c, -1, "at once"))
			return nil
		}))
		tell(t, g, addItem{})
		<-time.After(2500 * time.Millisecond)
		if !timers[0].Stop() || timers[0].Stop() || timers[1].Stop() {
			t.Error("Stop does not say whether the message was taken back")
		}
		<-time.After(time.Hour)
		d.want(t, "0s at once", "1s first", "2s second")
	})
}

// A message lives with the incarnation that has sent it. A failure with Resume goes on with that, a
// restart does not, and what comes after a passivation is another.
func TestAfterLivesWithTheIncarnation(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(c *Context[message_]) error
		does Directive
		want []string
	}{
		"resumed":    {func(*Context[message_]) error { return errors.New("no luck") }, Resume, []string{"10s late"}},
		"restarted":  {func(*Context[message_]) error { return errors.New("no luck") }, Restart, nil},
		"stopped":    {func(*Context[message_]) error { return errors.New("no luck") }, Stop, nil},
		"passivated": {(*Context[message_]).Passivate, Resume, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				var d diary
				typ := timing(&d, func(x *Context[message_], m message_) error {
					if _, is := m.(addItem); is {
						mustAfter(x, 10*time.Second, "late")
						return nil
					}
					return c.end(x)
				})
				typ.Supervision.Decide = Always(c.does)
				g, _ := localRegion(t, typ)
				tell(t, g, addItem{})
				tell(t, g, silent{})
				<-time.After(time.Second)
				tell(t, g, echo{Text: "between"}) // there is an incarnation
				<-time.After(time.Minute)
				d.want(t, append([]string{"1s between"}, c.want...)...)
			})
		})
	}
}

// A message that finds the mailbox full waits, and is not lost.
func TestAfterWaitsForRoom(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d diary
		busy := make(chan struct{})
		typ := timing(&d, func(c *Context[message_], m message_) error {
			if _, is := m.(addItem); is {
				mustAfter(c, time.Second, "its time has come")
				<-busy
			}
			return nil
		})
		typ.Limits.MailboxMax = 2
		g, _ := localRegion(t, typ)
		tell(t, g, addItem{})
		synctest.Wait()
		tell(t, g, silent{})
		tell(t, g, silent{})
		<-time.After(10*time.Second + 50*time.Millisecond)
		close(busy)
		<-time.After(time.Minute)
		d.want(t, "10.1s its time has come")
	})
}

// A message puts a receive timeout off, and does not keep its entity from being passivated.
func TestAfterIsNoActivity(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d diary
		typ := timing(&d, nil)
		typ.Passivation.Strategy.IdleTimeout = time.Minute
		typ.New = func(c *Context[message_]) Entity[message_] {
			c.SetReceiveTimeout(15*time.Second, silent{})
			mustAfter(c, 10*time.Second, "")
			return d.entity(func(c *Context[message_], m message_) error {
				switch m.(type) {
				case silent:
					d.note("timeout")
				default:
					d.note("message")
				}
				return nil
			})
		}
		g, _ := localRegion(t, typ)
		g.plane.Entities.StartScans()
		tell(t, g, addItem{})
		<-time.After(26 * time.Second)
		d.want(t, "0s message", "10s message", "25s timeout")
		<-time.After(2 * time.Minute)
		if n := g.Stats().Entities; n != 0 {
			t.Errorf("%d entities, want none", n)
		}
	})
}

// The number of messages that wait is bounded, and what was stopped makes room.
func TestAfterIsBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var d diary
		g, _ := localRegion(t, timing(&d, func(c *Context[message_], _ message_) error {
			var last *Timer
			for range entities.TimersMax {
				last = mustAfter(c, time.Hour, "")
			}
			if timer, err := c.After(0, silent{}); timer != nil || !errors.Is(err, ErrBufferFull) {
				t.Errorf("one more: %v, %v", timer, err)
			}
			last.Stop()
			mustAfter(c, 0, "again")
			return nil
		}))
		tell(t, g, addItem{})
		<-time.After(time.Minute)
		d.want(t, "0s again")
	})
}

func TestAfterTheHandler(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var kept *Context[message_]
		g, _ := localRegion(t, timing(&diary{}, func(c *Context[message_], _ message_) error {
			kept = c
			return c.Passivate()
		}))
		tell(t, g, addItem{})
		synctest.Wait()
		if timer, err := kept.After(0, silent{}); timer != nil || !errors.Is(err, ErrHandlerReturned) {
			t.Errorf("%v, %v", timer, err)
		}
	})
}
