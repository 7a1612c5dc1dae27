package judge

import (
	"fmt"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// Record is what one stored event says.
type Record struct {
	Command uint64 // for which it was stored
	Part    uint64 // its place among those of the command, from 0
	Parts   uint64 // how many the command has
	Writer  uint64 // of the incarnation that wrote it
	Before  Sum    // of the history that it was made for
}

// Sum stands for a history.
type Sum uint64

// Next is the sum after one more record.
func (s Sum) Next(r Record) Sum {
	h := random.Mix(uint64(s) ^ 0x9e3779b97f4a7c15)
	for _, x := range [...]uint64{r.Command, r.Part, r.Parts, r.Writer, uint64(r.Before)} {
		h = random.Mix(h*0x9e3779b97f4a7c15 + x)
	}
	return Sum(h)
}

// Receipt is what a client is told.
type Receipt struct {
	Command uint64 // to which it is the reply
	Seq     uint64 // how many records the history had
	Sum     Sum    // of them
}

// Entity is an entity of a type.
type Entity struct{ Type, ID string }

func (e Entity) String() string { return fmt.Sprintf("%s/%s", e.Type, e.ID) }
