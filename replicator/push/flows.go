package push

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Flows carry messages that are larger than a frame to one peer: groups, items, and messages with
// large clocks. They go one at a time, cut into parts, a window of parts on their way. What a flow
// carries counts as on its way as long as it waits or gets on: it is not sent to that peer a second
// time. A flow that does not get on is dropped in the end, at both sides; the sender of what it
// carried asks or is asked again.
//
// Memory: groups of up to a limit in bytes, or one, wait to go, and as much of other messages.
// Those that have begun are encoded, a group once for all peers.
//
// Invariants: no two flows carry the same; retryAt is set while there is a flow.
type Flows struct {
	out     []flow // the first is on its way
	nextID  uint64
	retryAt time.Time
	tries   int    // retries without progress
	moved   uint64 // times that parts were acknowledged
}

type flow struct {
	id uint64 // given when it begins; 0: it waits
	Cargo
	*Large
	acked uint32
	next  uint32
}

// Cargo says what a flow carries: a group of a space, the answer to a question of a repair, or what
// holds clocks.
type Cargo struct {
	Kind    int   // of message
	Space   uint8 //
	State   bool  // a later cargo of the kind tells all that an earlier one does
	Group   crdt.Range
	Session uint64 // of a repair
	About   uint64 // the question, or what else tells two of one kind apart
}

// isGroup reports whether the cargo is a group.
func (c Cargo) isGroup() bool { return c.Group != (crdt.Range{}) }

// GroupCargo is a group on its way.
func GroupCargo(kind int, space uint8, g crdt.Group) Cargo {
	return Cargo{
		Kind: kind, Space: space, Group: crdt.Range{Origin: g.First().Origin, First: g.First().Seq, Last: g.Last().Seq},
	}
}

// Large is a message on its way in parts, to one peer or to several. It is encoded once, when the
// first part of it goes.
type Large struct {
	encode func(dst []byte) []byte // nil when it has been encoded
	size   int                     // in bytes, without what is around the groups or items
	epoch  uint64
	data   []byte
}

// NewLarge is for a message of about size bytes that names an epoch; encode appends it.
func NewLarge(size int, epoch uint64, encode func(dst []byte) []byte) *Large {
	return &Large{encode: encode, size: size, epoch: epoch}
}

func (l *Large) encoded() []byte {
	if l.encode != nil {
		l.data, l.encode = l.encode(make([]byte, 0, l.size+FlowExtra)), nil
	}
	return l.data
}

// Bounds of flows.
const (
	FlowsMax  = 8    // groups waiting per peer, and as many other messages
	FlowExtra = 1024 // bytes around a group
	flowTries = 8    // retries without progress
)

// Part is a piece of an encoded message.
type Part struct {
	Flow         uint64
	Index, Total uint32
	Data         []byte
}

// Place is whether there is one for a message.
type Place uint8

// The places.
const (
	NoPlace   Place = iota // the caller tries again when a flow has ended
	OnItsWay               // a flow carries it already
	Outdated               // a flow that has not begun carries an earlier state: Put replaces it
	FreePlace              // Put it
)

// PlaceFor reports whether there is a place for a message of so many bytes.
func (f *Flows) PlaceFor(c Cargo, size, bytesMax int) Place {
	if i := f.find(c); i >= 0 {
		if c.State && i > 0 {
			return Outdated // the latest is worth more
		}
		return OnItsWay
	}
	if n, bytes := f.Waiting(c.isGroup()); n == FlowsMax || n > 0 && bytes+size > bytesMax {
		return NoPlace
	}
	return FreePlace
}

// Put enters a message for which there is a place, and reports whether it goes first.
func (f *Flows) Put(c Cargo, l *Large) bool {
	if i := f.find(c); i >= 0 {
		f.out[i].Large = l
		return false
	}
	f.out = slices.Insert(f.out, f.placeOf(c), flow{Cargo: c, Large: l})
	return len(f.out) == 1
}

// Carrying returns the message of an epoch that carries c, nil when none does.
func (f *Flows) Carrying(c Cargo, epoch uint64) *Large {
	for i := range f.out {
		if o := &f.out[i]; o.Cargo == c && o.epoch == epoch {
			return o.Large
		}
	}
	return nil
}

// find returns the index of the flow that carries c, -1 when none does.
func (f *Flows) find(c Cargo) int {
	return slices.IndexFunc(f.out, func(o flow) bool { return o.Cargo == c })
}

// placeOf says where a new flow waits: clocks before groups, which are many and waited for less.
func (f *Flows) placeOf(c Cargo) int {
	if !c.isGroup() {
		for i := 1; i < len(f.out); i++ {
			if f.out[i].isGroup() {
				return i
			}
		}
	}
	return len(f.out)
}

// Waiting returns how many flows carry groups, or anything else, and their bytes. Each of the two
// has room of its own. Groups that cannot be applied before a repair is done come again and again,
// and would keep out the clocks of that repair.
func (f *Flows) Waiting(groups bool) (n, bytes int) {
	for i := range f.out {
		if f.out[i].isGroup() == groups {
			n++
			bytes += f.out[i].size
		}
	}
	return n, bytes
}

// Len returns how many flows there are.
func (f *Flows) Len() int { return len(f.out) }

// Carries reports whether a flow carries a message of a repair.
func (f *Flows) Carries(session uint64) bool {
	return slices.ContainsFunc(f.out, func(o flow) bool { return o.Session == session })
}

// CarriesLike reports whether a flow carries a message of the kind of c, in its space.
func (f *Flows) CarriesLike(c Cargo) bool {
	for i := range f.out {
		if o := &f.out[i]; o.Kind == c.Kind && o.Space == c.Space {
			return true
		}
	}
	return false
}

// Join adds the groups on their way in a space to a clock.
func (f *Flows) Join(space uint8, c *crdt.Clock) {
	for i := range f.out {
		if o := &f.out[i]; o.Space == space && o.isGroup() {
			c.AddRange(o.Group.Origin, o.Group.First, o.Group.Last)
		}
	}
}

// Groups calls fn with the groups of an origin that are on their way in a space, in the order in
// which they go.
func (f *Flows) Groups(space uint8, of crdt.Origin, fn func(r crdt.Range, size int)) {
	for i := range f.out {
		if o := &f.out[i]; o.Space == space && o.Group.Origin == of {
			fn(o.Group, o.size)
		}
	}
}

// Pump sends the parts of the first flow that the window allows. A flow that had to be retried gets
// a window of one part, to ask whether the peer is there.
func (f *Flows) Pump(partMax, window int, send func(Part)) {
	if len(f.out) == 0 {
		return
	}
	o := &f.out[0]
	if o.id == 0 {
		f.nextID++
		o.id = f.nextID
	}
	if f.tries > 0 {
		window = 1
	}
	data := o.encoded()
	for total := parts(data, partMax); o.next < total && o.next < o.acked+uint32(window); o.next++ {
		at := int(o.next) * partMax
		send(Part{Flow: o.id, Index: o.next, Total: total, Data: data[at:min(at+partMax, len(data))]})
	}
}

// parts is how many parts a message is cut into.
func parts(data []byte, partMax int) uint32 { return uint32((len(data) + partMax - 1) / partMax) }

// Acked takes the news that the parts of a flow before next have come. It reports whether that is
// progress, and whether all parts of the first flow have come.
func (f *Flows) Acked(id uint64, next uint32, partMax int) (moved, whole bool) {
	if len(f.out) == 0 || f.out[0].id != id {
		return false, false
	}
	o := &f.out[0]
	total := parts(o.encoded(), partMax)
	if next <= o.acked || next > total {
		return false, false
	}
	o.acked, o.next = next, max(o.next, next)
	f.moved++
	f.tries, f.retryAt = 0, time.Time{}
	return true, o.acked == total
}

// Retry sends the first flow again from what was acknowledged, with the next Pump. It reports
// whether that was tried too often: then End is called for.
func (f *Flows) Retry() (vain bool) {
	if f.tries++; f.tries > flowTries {
		return true
	}
	f.out[0].next = f.out[0].acked
	return false
}

// End drops the first flow, and makes place for the next.
func (f *Flows) End() {
	f.out[0] = flow{}
	f.out = append(f.out[:0], f.out[1:]...)
	clear(f.out[len(f.out):cap(f.out)])
	f.retryAt, f.tries = time.Time{}, 0
}

// Tries returns how many retries in a row have brought nothing.
func (f *Flows) Tries() int { return f.tries }

// Moved counts the times that parts were acknowledged.
func (f *Flows) Moved() uint64 { return f.moved }

// RetryAt returns when to retry; zero: never.
func (f *Flows) RetryAt() time.Time { return f.retryAt }

// Arm sets the timer if there is a flow and none runs, and reports whether it has.
func (f *Flows) Arm(at time.Time) bool {
	if len(f.out) == 0 || !f.retryAt.IsZero() {
		return false
	}
	f.retryAt = at
	return true
}

// Due reports whether the timer has run out, and stops it if so.
func (f *Flows) Due(now time.Time) bool { return timer.Due(&f.retryAt, now) }

// Check returns a broken invariant.
func (f *Flows) Check() error {
	for i := range f.out {
		for j := range f.out[:i] {
			if f.out[i].Cargo == f.out[j].Cargo {
				return fmt.Errorf("two flows carry %v", f.out[i].Cargo)
			}
		}
	}
	switch {
	case len(f.out) > 2*FlowsMax:
		return fmt.Errorf("%d flows", len(f.out))
	case len(f.out) > 0 && f.retryAt.IsZero():
		return fmt.Errorf("%d flows and no timer runs", len(f.out))
	}
	return nil
}
