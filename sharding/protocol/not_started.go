package protocol

// Predecessor is what holds for an entity type on a node beyond the life of one region and one
// coordinator of it. What starts there next is made of it.
type Predecessor struct {
	// Floor refuses what coordinators before it say.
	Floor Token
	// Seq is the highest count in the tokens of the node's coordinators.
	Seq uint64
	// Incarnation is how many regions of the type the node had.
	Incarnation uint32
}

// NotStarted answers for an entity type on a node that has not started it. It is no machine: it has
// no time of its own, and what it answers follows from its Predecessor and the message. A type that
// was closed needs none: its machines stay, and answer.
type NotStarted struct{ Predecessor Predecessor }

// Answer is what a message of another node, for whichever machine, is answered with; nil: nothing.
// What it says binds what is made of Predecessor.
func (a *NotStarted) Answer(m Message) Message {
	switch m := m.(type) {
	case Inquire:
		if m.Floor.Less(a.Predecessor.Floor) {
			return nil
		}
		a.Predecessor.Floor = m.Floor
		return AbsentReport{Floor: m.Floor}
	case Register:
		return Absent{}
	case Compare:
		return Compared{}
	}
	return nil
}
