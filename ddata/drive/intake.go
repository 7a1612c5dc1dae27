package drive

import "sync"

// What others' messages may have waiting in front of a machine, in messages. A member that floods loses its own, and those who are no members share
// one small part, so that none of them crowds a member out.
const (
	memberShare    = 4096
	strangersShare = 1024
)

// Intake counts the messages of other nodes that wait in front of a machine. Whoever admits a message forces it into the machine's Loop, and the
// machine says when it has taken it. Its methods may be called from any goroutine.
type Intake struct {
	member func(node uint64) bool
	full   func()

	mu        sync.Mutex
	waiting   map[uint64]int // of members
	strangers int
}

// Place is that of one message; the zero Place has none, as that of an input of this node.
type Place struct {
	in     *Intake
	member uint64 // 0: a stranger's
}

// NewIntake makes an Intake: member says who is a member of the cluster now, and full is called for each message that finds no place.
func NewIntake(member func(node uint64) bool, full func()) *Intake {
	return &Intake{member: member, full: full, waiting: map[uint64]int{}}
}

// Admit finds a place for a message of another node; false says that there is none, which full was told.
func (i *Intake) Admit(from uint64) (Place, bool) {
	member := i.member(from)
	i.mu.Lock()
	defer i.mu.Unlock()
	if member && i.waiting[from] < memberShare {
		i.waiting[from]++
		return Place{i, from}, true
	}
	if !member && i.strangers < strangersShare {
		i.strangers++
		return Place{in: i}, true
	}
	i.full()
	return Place{}, false
}

// Taken gives the place back. It is called once.
func (p Place) Taken() {
	if p.in == nil {
		return
	}
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.member == 0 {
		p.in.strangers--
	} else if p.in.waiting[p.member]--; p.in.waiting[p.member] == 0 {
		delete(p.in.waiting, p.member)
	}
}
