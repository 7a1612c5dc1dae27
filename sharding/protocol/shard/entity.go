package shard

import (
	"fmt"
)

// entityState is where an entity stands in its life on this node.
type entityState uint8

// States of an entity. Those that need Remember are marked.
const (
	entityAbsent      entityState = iota // nothing is known of it
	entityRemembered                     // Remember: its id is in the set, it is not started
	rememberingStart                     // Remember: its id is being added; messages wait
	entityActive                         // it runs; messages go to it without asking this machine
	entityPassivating                    // it was told to stop and be forgotten; messages wait
	rememberingStop                      // Remember: its id is being removed; messages wait
	// Remember: it ended by itself and is started again after a pause, or by a message
	waitingForRestart
	entityStopping // it was told to stop because its shard is handed off
	entityStateEnd
)

var entityStateNames = [entityStateEnd]string{
	"absent", "remembered", "remembering-start", "active", "passivating", "remembering-stop",
	"waiting-for-restart", "stopping",
}

func (e entityState) String() string {
	if e < entityStateEnd {
		return entityStateNames[e]
	}
	return fmt.Sprintf("entityState(%d)", uint8(e))
}

// transitions are the changes of state that may happen; anything else is a defect of this machine.
var transitions = [entityStateEnd][]entityState{
	entityAbsent:      {entityRemembered, rememberingStart, entityActive},
	entityRemembered:  {entityActive, rememberingStop, entityAbsent},
	rememberingStart:  {entityActive, entityAbsent},
	entityActive:      {entityPassivating, waitingForRestart, entityStopping, entityAbsent},
	entityPassivating: {rememberingStop, entityActive, entityStopping, entityAbsent},
	rememberingStop:   {rememberingStart, entityAbsent},
	waitingForRestart: {entityActive, entityRemembered, entityAbsent},
	entityStopping:    {entityRemembered, entityActive, entityAbsent},
}

// entity is small: there may be a million in a shard.
type entity struct {
	state  entityState
	wanted bool // a message, or a StartEntity, waits for the next incarnation
}

func (e entity) changing() bool {
	return e.state == rememberingStart || e.state == entityPassivating || e.state == rememberingStop
}

func (e entity) running() bool {
	return e.state == entityActive || e.state == entityPassivating || e.state == entityStopping
}
