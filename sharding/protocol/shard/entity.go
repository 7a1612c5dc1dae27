package shard

import (
	"fmt"
)

// EntityState is where an entity stands in its life on this node.
type EntityState uint8

// States of an entity. Those that need Remember are marked.
const (
	EntityAbsent      EntityState = iota // nothing is known of it
	EntityRemembered                     // Remember: its id is in the set, it is not started
	RememberingStart                     // Remember: its id is being added; messages wait
	EntityActive                         // it runs; messages go to it without asking this machine
	EntityPassivating                    // it was told to stop and be forgotten; messages wait
	RememberingStop                      // Remember: its id is being removed; messages wait
	// Remember: it ended by itself and is started again after a pause, or by a message
	WaitingForRestart
	EntityStopping // it was told to stop because its shard is handed off
	entityStateEnd
)

var entityStateNames = [entityStateEnd]string{
	"absent", "remembered", "remembering-start", "active", "passivating", "remembering-stop",
	"waiting-for-restart", "stopping",
}

func (e EntityState) String() string {
	if e < entityStateEnd {
		return entityStateNames[e]
	}
	return fmt.Sprintf("EntityState(%d)", uint8(e))
}

// transitions are the changes of state that may happen; anything else is a defect of this machine.
var transitions = [entityStateEnd][]EntityState{
	EntityAbsent:      {EntityRemembered, RememberingStart, EntityActive},
	EntityRemembered:  {EntityActive, RememberingStop, EntityAbsent},
	RememberingStart:  {EntityActive, EntityAbsent},
	EntityActive:      {EntityPassivating, WaitingForRestart, EntityStopping, EntityAbsent},
	EntityPassivating: {RememberingStop, EntityActive, EntityStopping, EntityAbsent},
	RememberingStop:   {RememberingStart, EntityAbsent},
	WaitingForRestart: {EntityActive, EntityRemembered, EntityAbsent},
	EntityStopping:    {EntityRemembered, EntityActive, EntityAbsent},
}

// entity is small: there may be a million in a shard.
type entity struct {
	state  EntityState
	wanted bool   // a message, or a StartEntity, waits for the next incarnation
	gen    uint32 // of the timer that may still act on it
}

func (e entity) changing() bool {
	return e.state == RememberingStart || e.state == EntityPassivating || e.state == RememberingStop
}

func (e entity) running() bool {
	return e.state == EntityActive || e.state == EntityPassivating || e.state == EntityStopping
}
