package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/client"
)

// watch prints events as they come. It ends with ctx, and when the console refuses; a console that
// cannot be reached for a while is asked again.
func watch(ctx context.Context, r *remote, every, timeout time.Duration) error {
	s := seen{last: map[string]uint64{}}
	tick := time.NewTicker(every)
	defer tick.Stop()
	complained := ""
	for {
		x, err := askEvents(ctx, r, timeout)
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
			if err := print(r, s.fresh(x)); err != nil {
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

func askEvents(ctx context.Context, r *remote, timeout time.Duration) (api.Events, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.Events(ctx, api.EventsMax)
}

// seen says which events were printed: of each node those up to a number.
type seen struct{ last map[string]uint64 }

// before is how many events are printed that came before the first look.
const before = 10

// fresh returns the events that were not printed yet, which now they are. Of those of the first look
// it returns the last.
func (s *seen) fresh(x api.Events) (all []api.Event) {
	first := len(s.last) == 0
	defer func() {
		if first {
			all = all[max(0, len(all)-before):]
		}
	}()
	for _, e := range x.Events {
		if e.Seq > s.last[e.Node] {
			s.last[e.Node] = e.Seq
			all = append(all, e)
		}
	}
	return all
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
		t.row(clock(e.At), e.Level, short(e.Node), e.Text)
	}
	return t.end()
}
