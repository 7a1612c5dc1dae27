package eventstest

import "github.com/coterie-go/coterie/ddata/events"

// On is a listener of the events of one type.
func On[E events.Event](hear func(E)) events.Listener {
	return func(e events.Event) {
		if e, ok := e.(E); ok {
			hear(e)
		}
	}
}
