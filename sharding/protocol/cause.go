package protocol

import "fmt"

// Cause says why an entity is passivated.
type Cause uint8

// Causes of passivations.
const (
	CauseRequest Cause = iota // the entity, or a caller, asked for it
	CauseIdle                 // no message came for long
	CauseLimit                // too many entities are active
	CauseEnd                  // how many there are
)

var causeNames = [CauseEnd]string{"request", "idle", "limit"}

func (c Cause) String() string {
	if c < CauseEnd {
		return causeNames[c]
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}
