package pace

import (
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Settings are the bounds of a Pace.
type Settings struct {
	SaveEvery              int           // events after which a save is due
	SaveInterval           time.Duration // after the first event that is not saved
	BackoffMin, BackoffMax time.Duration // of the pause after a failure
}

// Event names an event that has failed. The zero value names none: the store or the reader failed.
type Event struct {
	Entity string
	Seq    uint64
}

// Pace is the state of one part. It is made by New.
//
//	            Handled                    SaveDue
//	saved ───────────────────► unsaved ──────────────► Saved ──► saved
//	  ▲                           │ Failed
//	  └──────── Begin ◄── pause ◄─┘
//
// Invariant: due is zero if and only if unsaved is 0.
type Pace struct {
	settings Settings
	unsaved  int       // events that are handled and not saved
	due      time.Time // of the save

	failures int   // since the last save
	blamed   Event // the event of the last failure that had one
	tries    int   // of it
}

// New makes the state of a part.
func New(s Settings) *Pace { return &Pace{settings: s} }

// Begin says that the part goes on at what is saved.
func (p *Pace) Begin() { p.unsaved, p.due = 0, time.Time{} }

// Handled says that events were handled, and are not saved.
func (p *Pace) Handled(now time.Time, events int) {
	if p.unsaved == 0 && events > 0 {
		p.due = now.Add(p.settings.SaveInterval)
	}
	p.unsaved += events
}

// Unsaved reports whether there is something to save.
func (p *Pace) Unsaved() bool { return p.unsaved > 0 }

// Deadline returns when a save is due; zero: there is nothing to save.
func (p *Pace) Deadline() time.Time { return p.due }

// SaveDue reports whether it is time to save.
func (p *Pace) SaveDue(now time.Time) bool {
	return p.unsaved > 0 && (p.unsaved >= p.settings.SaveEvery || !now.Before(p.due))
}

// Saved says that all that was handled is saved. The next failure is the first one again. An event
// that has failed keeps its tries: those before it may be saved meanwhile.
func (p *Pace) Saved() {
	p.Begin()
	p.failures = 0
}

// Failed says that the part has failed, perhaps with an event. It returns how often that event has
// failed in succession, 0 without an event, and the pause before the part begins again.
func (p *Pace) Failed(e Event) (tries int, pause time.Duration) {
	pause = timer.Backoff(p.settings.BackoffMin, p.settings.BackoffMax, p.failures)
	p.failures++
	if e == (Event{}) {
		return 0, pause
	}
	if e != p.blamed {
		p.blamed, p.tries = e, 0
	}
	p.tries++
	return p.tries, pause
}
