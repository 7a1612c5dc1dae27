package stall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/options"
)

func settings() options.Options {
	o := options.Options{Nodes: 3, Spare: 1, StopTimeout: 2 * time.Second, LeaseRetry: time.Second}
	o.Persisted.Entities, o.Persisted.Store.Delay = 2, time.Millisecond
	return o
}

// A wait of each kind may take as long as its limit, and not a moment longer.
func TestLookAtTheLimit(t *testing.T) {
	o := settings()
	for k, most := range limitsOf(&o) {
		for _, late := range []time.Duration{0, 1} {
			j := New(&o)
			j.Begin(7)
			var complaints []string
			missing := func(of Kind) *Lack {
				if of == Kind(k) {
					return Lacks("some%s", "thing")
				}
				return nil
			}
			complain := func(format string, args ...any) {
				complaints = append(complaints, fmt.Sprintf(format, args...))
			}
			j.Look(7+int64(most+late), missing, complain)
			if len(complaints) != int(late) {
				t.Errorf("%v, %v after its limit: %q", Kind(k), late, complaints)
			}
			for _, c := range complaints {
				if !strings.HasPrefix(c, Kind(k).String()+" took") || !strings.HasSuffix(c, "something") {
					t.Errorf("%v: %q", Kind(k), c)
				}
			}
		}
	}
}

// What has come once is not waited for again, until all begins anew.
func TestBeginBeginsAnew(t *testing.T) {
	o := settings()
	j := New(&o)
	complaints := 0
	look := func(now int64, what string) {
		j.Look(now, func(Kind) *Lack { return Said(what) }, func(string, ...any) { complaints++ })
	}
	look(int64(time.Second), "")
	look(int64(time.Hour), "all")
	if complaints > 0 {
		t.Errorf("%d complaints about what had come", complaints)
	}
	if w := j.Waits(); w[ForHome].Took != time.Second || w[ForHome].Limit != limitsOf(&o)[ForHome] {
		t.Errorf("waits %v", w)
	}
	j.Begin(int64(time.Hour))
	if look(j.Until(), "all"); complaints != int(Kinds)-1 {
		t.Errorf("%d complaints while the last may wait, want one of each other kind", complaints)
	}
	if look(j.Until()+1, "all"); complaints != 2*int(Kinds)-1 {
		t.Errorf("%d complaints, want one of each kind at the second look", complaints)
	}
}

// A leaving node that handles what was sent before puts off the limit of the view, and no other.
func TestDrainsPutsOffTheView(t *testing.T) {
	o := settings()
	for k, most := range limitsOf(&o) {
		j := New(&o)
		j.Begin(7)
		j.Drains(int64(time.Second))
		j.Begin(9) // earlier than that
		complaints := 0
		look := func(now int64) {
			j.Look(now, func(of Kind) *Lack { return Said(map[bool]string{true: "it"}[of == Kind(k)]) },
				func(string, ...any) { complaints++ })
		}
		end := 9 + int64(most)
		if Kind(k) == ForView {
			end = int64(time.Second + most)
		}
		if look(end); complaints > 0 {
			t.Errorf("%v: a complaint at its limit", Kind(k))
		}
		if look(end + 1); complaints != 1 {
			t.Errorf("%v: %d complaints after its limit", Kind(k), complaints)
		}
	}
}

// Every setting that a wait may stand for makes its limit longer.
func TestLimitsFollowTheSettings(t *testing.T) {
	base := settings()
	for name, c := range map[string]struct {
		change func(*options.Options)
		grow   Kind // with all that are longer, the kinds that follow
	}{
		"nodes":       {func(o *options.Options) { o.Nodes++ }, ForView},
		"timing":      {func(o *options.Options) { o.Timing = options.HostileTiming }, Kinds},
		"timeout":     {func(o *options.Options) { o.Timeout = time.Minute }, ForOperation},
		"writeBehind": {func(o *options.Options) { o.WriteBehind = time.Second }, ForOperation},
		"stopTimeout": {func(o *options.Options) { o.StopTimeout *= 2 }, ForHome},
		"lateTypes":   {func(o *options.Options) { o.LateTypes = 20 * time.Second }, ForLease},
		"leaseTTL":    {func(o *options.Options) { o.LeaseTTL = 8 * time.Second }, ForHome},
		"leaseRetry":  {func(o *options.Options) { o.LeaseRetry *= 2 }, ForHome},
		"ledger": {func(o *options.Options) {
			o.Ledger.Used, o.Ledger.Store.Delay = true, time.Millisecond
		}, ForHome},
		"ledgerHangs": {func(o *options.Options) {
			o.Ledger.Used, o.Ledger.Store.Hangs = true, 0.01
		}, ForHome},
		"entities":    {func(o *options.Options) { o.Persisted.Entities++ }, ForState},
		"storeDelay":  {func(o *options.Options) { o.Persisted.Store.Delay *= 2 }, ForState},
		"linger":      {func(o *options.Options) { o.Persisted.Calls.Linger = time.Second }, ForState},
		"giveUpAfter": {func(o *options.Options) { o.Persisted.Calls.GiveUpAfter = time.Minute }, ForState},
	} {
		o := settings()
		c.change(&o)
		was, now := limitsOf(&base), limitsOf(&o)
		if c.grow == Kinds {
			if now == was {
				t.Errorf("%s changes no limit", name)
			}
			continue
		}
		if now[c.grow] <= was[c.grow] {
			t.Errorf("%s: %v is %v, was %v", name, c.grow, now[c.grow], was[c.grow])
		}
		for k := range c.grow {
			if now[k] != was[k] {
				t.Errorf("%s: %v is %v, was %v", name, k, now[k], was[k])
			}
		}
	}
}
