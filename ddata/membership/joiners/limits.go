package joiners

import "time"

// Bounds of a Table.
const (
	Max     = 256 // joiners that a member remembers
	toldMax = 256 // refusals that a member remembers to have told
)

// tellAgain is after how long a refusal of the same address, for the same reason, is told again.
const tellAgain = time.Minute
