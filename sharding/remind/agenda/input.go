package agenda

import (
	"time"

	"github.com/coterie-go/coterie/sharding/remind"
)

// Input is what an Agenda is stepped with.
type Input interface{ input() }

type (
	// Tick says that the Deadline has come.
	Tick struct{}
	// Set is a change that an entity has asked for. An Answer with its ID follows.
	Set struct {
		ID     uint64
		Change remind.Change
	}
	// DidRead completes a Read. Err may be remind.ErrDamaged beside what could be read.
	DidRead struct {
		Due  []remind.Reminder
		Next time.Time
		Err  error
	}
	// DidWrite completes a Write.
	DidWrite struct{ Err error }
	// Changed says that something has changed in the store.
	Changed struct{}
	// Handled says that the handler of a reminder has come to its end. Err says how it has failed.
	Handled struct {
		Key     remind.Key
		Version uint64
		Err     error
	}
	// Busy says that a reminder that was handed out has found no room.
	Busy struct {
		Key     remind.Key
		Version uint64
	}
	// Drain says that entities take no messages any more. Nothing is handed out until Resume.
	Drain struct{}
	// Resume takes Drain back.
	Resume struct{}
	// Flush asks for Flushed when what was handled is written.
	Flush struct{}
	// Fenced says that the store has answered a call that an entity has made with remind.ErrFenced, which is Err.
	Fenced struct{ Err error }
)

func (Tick) input()     {}
func (Set) input()      {}
func (DidRead) input()  {}
func (DidWrite) input() {}
func (Changed) input()  {}
func (Handled) input()  {}
func (Busy) input()     {}
func (Drain) input()    {}
func (Resume) input()   {}
func (Flush) input()    {}
func (Fenced) input()   {}

// Effects are what a step asks for. They are valid until the next step.
type Effects struct {
	Fire    []remind.Reminder // hand them to their entities
	Read    *Read             // nil: none
	Write   *Write            // nil: none
	Answers []Answer
	Alarm   error // the store fails, and did not before; or holds what cannot be read
	Works   bool  // the store works again
	Flushed bool  // what was handled is written, or cannot be now
}

// Read asks for the first reminders that are due.
type Read struct {
	Until time.Time
	Limit int
}

// Write asks for changes to be stored. IDs has the Set of each change, 0 for the end of a turn.
type Write struct {
	Changes []remind.Change
	IDs     []uint64
}

// Answer says how a Set has ended.
type Answer struct {
	ID  uint64
	Err error
}
