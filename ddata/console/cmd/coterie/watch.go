package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/client"
)

// watch prints events as they come. It ends with ctx, and when the console refuses; a console that
// cannot be reached for a while is asked again.
func watch(ctx context.Context, r *remote, every time.Duration) error {
	s := seen{last: map[string]uint64{}}
	var silent silences
	tick := time.NewTicker(every)
	defer tick.Stop()
	complained := ""
	for {
		x, err := askEvents(ctx, r)
		var answered *client.Error
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &answered) && answered.Refused():
			return err
		case err != nil && err.Error() != complained:
			complained = err.Error()
			fmt.Fprintln(r.errs, "coterie:", explained(r, err))
		case err == nil:
			complained = ""
			silent.tell(r, x.Unanswered)
			if err := s.print(r, x); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func askEvents(ctx context.Context, r *remote) (api.Events, error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	return r.Events(ctx, api.EventsMax)
}

// seen says which events were printed: of each node those up to a number.
type seen struct{ last map[string]uint64 }

// before is how many events are printed that came before the first look.
const before = 10

// print prints the events that were not printed yet, and says how many of a node were missed.
func (s *seen) print(r *remote, x api.Events) error {
	all, missed := s.fresh(x)
	for _, node := range slices.Sorted(maps.Keys(missed)) {
		fmt.Fprintf(r.errs, "coterie: %d events of %s were missed: one look has no room for them; its log has all\n",
			missed[node], api.Short(node))
	}
	return print(r, all)
}

// fresh returns the events that were not printed yet, which now they are, and how many lack between them and
// those that were, by node. Of those of the first look it returns the last.
func (s *seen) fresh(x api.Events) (all []api.Event, missed map[string]uint64) {
	missed = map[string]uint64{}
	first := len(s.last) == 0
	defer func() {
		if first {
			all = all[max(0, len(all)-before):]
		}
	}()
	for _, e := range x.Events {
		last, known := s.last[e.Node]
		if e.Seq <= last {
			continue
		}
		if known && e.Seq > last+1 {
			missed[e.Node] += e.Seq - last - 1
		}
		s.last[e.Node] = e.Seq
		all = append(all, e)
	}
	return all, missed
}

// silences are the nodes that gave no answer at the last look, by uid.
type silences map[string]bool

// tell names the nodes that have begun to give no answer, and those that give one again.
func (s *silences) tell(r *remote, now []api.Unanswered) {
	next := silences{}
	for _, u := range now {
		next[u.UID] = true
		if !(*s)[u.UID] {
			fmt.Fprintf(r.errs, "coterie: no answer of %s %s: %s\n", api.Short(u.UID), u.Addr, u.Why)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(*s)) {
		if !next[uid] {
			fmt.Fprintf(r.errs, "coterie: %s answers again, or is a member no more\n", api.Short(uid))
		}
	}
	*s = next
}

func print(r *remote, all []api.Event) error {
	if r.json {
		for _, e := range all {
			if err := json.NewEncoder(r.out).Encode(e); err != nil {
				return err
			}
		}
		return nil
	}
	t := newTable(r.out)
	for _, e := range all {
		t.row(clock(e.At), e.Level, api.Short(e.Node), e.Text)
	}
	return t.end()
}
