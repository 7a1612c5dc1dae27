package runloop

import "sync"

// These bound what others' messages may have waiting in front of a machine. A member that floods
// loses its own messages. All senders that are no members share one small part, so that none of
// them crowds a member out. One message finds a place however large it is.
var (
	memberShare    = share{messages: 4096, bytes: 32 << 20}
	strangersShare = share{messages: 1024, bytes: 4 << 20}
)

// share is so many messages, and what they came in.
type share struct{ messages, bytes int }

// admits reports whether one more fits beside what waits.
func (s share) admits(waiting share, bytes int) bool {
	return waiting.messages < s.messages && (waiting.messages == 0 || waiting.bytes+bytes <= s.bytes)
}

// Admission counts the messages of other nodes that wait in front of a machine. The caller that
// admits a message forces it into the machine's Loop, and the machine says when it has taken it.
// Its methods may be called from any goroutine.
type Admission struct {
	member func(node uint64) bool
	full   func()

	mu        sync.Mutex
	waiting   map[uint64]share // of members
	strangers share
}

// Permit is that of one message; the zero Permit has none, as that of an input of this node.
type Permit struct {
	in     *Admission
	member uint64 // 0: a stranger's
	bytes  int
}

// NewAdmission makes an Admission: member reports whether a node is a member of the cluster now,
// and full is called for each message that finds no place.
func NewAdmission(member func(node uint64) bool, full func()) *Admission {
	return &Admission{member: member, full: full, waiting: map[uint64]share{}}
}

// Admit finds a place for a message of another node that came in so many bytes; false says that
// there is none, which full was told.
func (i *Admission) Admit(from uint64, bytes int) (Permit, bool) {
	member := i.member(from)
	i.mu.Lock()
	defer i.mu.Unlock()
	if w := i.waiting[from]; member && memberShare.admits(w, bytes) {
		i.waiting[from] = share{w.messages + 1, w.bytes + bytes}
		return Permit{i, from, bytes}, true
	}
	if w := &i.strangers; !member && strangersShare.admits(*w, bytes) {
		*w = share{w.messages + 1, w.bytes + bytes}
		return Permit{in: i, bytes: bytes}, true
	}
	i.full()
	return Permit{}, false
}

// Release gives the place back. It is called once.
func (p Permit) Release() {
	if p.in == nil {
		return
	}
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	if p.member == 0 {
		p.in.strangers.messages--
		p.in.strangers.bytes -= p.bytes
		return
	}
	w := p.in.waiting[p.member]
	if w = (share{w.messages - 1, w.bytes - p.bytes}); w.messages == 0 {
		delete(p.in.waiting, p.member)
	} else {
		p.in.waiting[p.member] = w
	}
}
