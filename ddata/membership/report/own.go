package report

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Own is what this node reports of itself. The zero Own has nothing to say.
//
// Invariant: all but CaughtUp only moves forward.
type Own struct {
	flags   Flags          // Leaving, Stopped, CaughtUp and Closing
	settled view.Epoch     // its replicators have settled the views before
	moved   uint16         // the last move of keys of which it has done its part
	agreed  view.Epoch     // under which its replicators have the same of the incarnations that end as all others
	offers  []view.Service // for good, sorted
	asked   bool           // the cluster is to shut down: asked here
	closes  bool           // a view that is Closing is stored, and the layers above were told of it
}

// Flags are those of Leaving, Stopped, CaughtUp and Closing that hold.
func (o *Own) Flags() Flags { return o.flags }

// Has reports whether a flag is among Flags.
func (o *Own) Has(f Flags) bool { return o.flags&f != 0 }

// Leave notes that this node wants to leave, and reports whether that is new.
func (o *Own) Leave() bool { return o.say(Leaving) }

// Stop notes that nothing runs here under a lease any more.
func (o *Own) Stop() { o.say(Stopped) }

// Close notes that the whole cluster must shut down, and reports whether that is new.
func (o *Own) Close() bool { return o.say(Closing) }

func (o *Own) say(f Flags) bool {
	news := o.flags&f == 0
	o.flags |= f
	return news
}

// CatchUp notes whether the replicators have caught up, and reports whether that is a change.
func (o *Own) CatchUp(yes bool) bool {
	if o.Has(CaughtUp) == yes {
		return false
	}
	o.flags ^= CaughtUp
	return true
}

// Settle notes that the replicators have settled the views before an epoch, and reports whether that
// is news.
func (o *Own) Settle(e view.Epoch) bool {
	if e <= o.settled {
		return false
	}
	o.settled = e
	return true
}

// Settled is the epoch before which the replicators have settled all views.
func (o *Own) Settled() view.Epoch { return o.settled }

// Move notes the last move of keys of which this node has done its part, and reports whether that is
// a change.
func (o *Own) Move(number uint16) bool {
	if number == o.moved {
		return false
	}
	o.moved = number
	return true
}

// Moved is the last move of keys of which this node has done its part.
func (o *Own) Moved() uint16 { return o.moved }

// Agree notes that the replicators have the same of the incarnations that end (view.Ages) as all other
// members, under the view of an epoch, and reports whether that is news.
func (o *Own) Agree(e view.Epoch) bool {
	news := e > o.agreed
	o.agreed = max(o.agreed, e)
	return news
}

// Agreed is the newest epoch of which Agree was told.
func (o *Own) Agreed() view.Epoch { return o.agreed }

// Offer notes that this node offers a service, and reports whether that is new.
func (o *Own) Offer(s view.Service) bool {
	i, known := slices.BinarySearchFunc(o.offers, s, view.Service.Compare)
	if !known { // what was handed out stays as it is
		o.offers = slices.Insert(slices.Clone(o.offers), i, s)
	}
	return !known
}

// Unlisted are the services that this node offers and for which a view has yet to list it, sorted: as many
// as a view has room for.
func (o *Own) Unlisted(v *view.View, self view.UID) (some []view.Service) {
	for _, s := range o.offers {
		if len(some) < view.LinesMax && !v.Lines.Settles(s, self) {
			some = append(some, s)
		}
	}
	return some
}

// AskToClose notes that this node was asked to close the cluster.
func (o *Own) AskToClose() { o.asked = true }

// AskedToClose reports whether this node was asked to close the cluster.
func (o *Own) AskedToClose() bool { return o.asked }

// TellClosing notes that the layers above were told of a view that is Closing, and reports whether
// that is new.
func (o *Own) TellClosing() bool {
	news := !o.closes
	o.closes = true
	return news
}

// ToldClosing reports whether the layers above were told of a view that is Closing.
func (o *Own) ToldClosing() bool { return o.closes }
