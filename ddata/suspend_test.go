package ddata

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
	"unsafe"

	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/membership"
)

// slept is a time of a machine that slept since: its monotonic clock stood still meanwhile, its
// wall clock did not. Package time makes no such times.
func slept(last time.Time, d time.Duration) time.Time {
	before := last.Add(-d)
	(*struct { // as time.Time, whose ext counts monotonic nanoseconds
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&before)).ext += int64(d)
	return before
}

// A node whose machine was suspended loses its lease when it wakes, for as long as it takes to be
// granted a new one, and says why.
func TestSuspendIsNoticed(t *testing.T) {
	last := time.Now()
	if s := slept(last, time.Minute); last.Sub(s) != 0 || last.Round(0).Sub(s.Round(0)) != time.Minute {
		t.Fatal("a time of a machine that slept is made otherwise in this version of Go")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := l.Addr().String()
	l.Close()
	nodes, errs, lost := make([]*Node, 3), make(chan error, 3), make(chan membership.LeaseLoss, 100)
	for i, bind := range []string{first, "127.0.0.1:0", "127.0.0.1:0"} {
		c := Config{
			Name: "test", Bind: bind, Seeds: []string{first}, BootstrapExpect: 3, Preset: Local,
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}
		if i == 0 {
			c.OnEvent = eventstest.On(func(e events.LeaseLost) {
				select {
				case lost <- e.Why:
				default:
				}
			})
		}
		go func() {
			var err error
			nodes[i], err = Start(t.Context(), c)
			errs <- err
		}()
	}
	for range nodes {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		defer n.Close()
	}
	m := nodes[0].members
	m.loop.Force(memberInput{do: func() {
		m.d = drivers.NewMembers(membersDriver(m).Machine(), m, slept(membersDriver(m).Last(), time.Minute))
	}})
	for late := time.After(20 * time.Second); ; {
		select {
		case why := <-lost:
			if why == membership.LeaseSuspended {
				return
			}
		case <-late:
			t.Fatal("nothing is said of it")
		}
	}
}
