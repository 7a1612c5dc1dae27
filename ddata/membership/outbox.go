package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Effects is what a step wants done, in the order of the fields. It is reused: valid until the next
// Step. The pointers and slices inside Envelopes and Install may be kept, not modified.
type Effects struct {
	// Persist, if not nil, replaces the record on disk. The driver has it written beside the
	// machine, which goes on, and answers with Persisted. There is no second one before the answer,
	// and none without Config.Disk. The machine holds back what must wait for it (V5); nothing
	// below does. The bytes are the caller's.
	Persist []byte
	Send    []message.Envelope
	Install []*view.View // views that this node has installed and stored, oldest first
	// for the arbiter's lease: one after the other, after those of earlier steps; nothing waits for
	// them
	Arbiter []arbitration.Op
	Events  []Event // for the log and for subscribers
	Done    error   // not nil: the machine has ended (ErrDowned, ErrLeft, ErrRefused, ErrStalled, ErrStore)
}

// String lists the effects, one a line.
func (e *Effects) String() string {
	var b strings.Builder
	if e.Persist != nil {
		r, err := record.Decode(e.Persist)
		if err != nil {
			fmt.Fprintf(&b, "persist %v\n", err)
		} else {
			fmt.Fprintf(&b, "persist %v\n", r)
		}
	}
	for _, s := range e.Send {
		fmt.Fprintf(&b, "send %v\n", s)
	}
	for _, v := range e.Install {
		fmt.Fprintf(&b, "install %v\n", v)
	}
	for _, op := range e.Arbiter {
		fmt.Fprintf(&b, "arbiter %v\n", op)
	}
	for _, ev := range e.Events {
		fmt.Fprintf(&b, "event %v\n", ev)
	}
	if e.Done != nil {
		fmt.Fprintf(&b, "done %v\n", e.Done)
	}
	return b.String()
}

func (e *Effects) reset() {
	e.Persist = nil
	e.Send = e.Send[:0]
	e.Install = nil
	e.Arbiter = nil
	e.Events = nil
	e.Done = nil
}

// outbox gathers the effects of a step, and keeps what waits for the disk.
type outbox struct {
	Effects
	notices notices
}

func (b *outbox) send(to view.UID, addr string, msg message.Message) {
	b.Send = append(b.Send, message.Envelope{To: to, Addr: addr, Msg: msg})
}

// announce tells a view that was decided after the installed one to all members and nodes that it
// concerns, self excepted. Members of both are told what has changed, unless this node is waiting for
// their word that they know the view.
func (b *outbox) announce(self view.UID, installed *view.Installed, next *view.View) {
	var whole, change message.Message = message.Commit{View: next}, nil
	if installed.Format >= format.Changes && next.Parent == installed.Digest && next.Has(self) {
		change = message.Change{Change: installed.ChangeTo(next)}
	}
	for _, o := range next.Members {
		switch {
		case o.UID == self:
		case change != nil && installed.Has(o.UID):
			b.send(o.UID, o.Addr, change)
		default:
			b.send(o.UID, o.Addr, whole)
		}
	}
	for _, o := range installed.Members {
		if o.UID != self && !next.Has(o.UID) {
			b.send(o.UID, o.Addr, whole)
		}
	}
}

// event tells something. What concerns a member stays behind the view that lists it.
func (b *outbox) event(e Event) {
	if !b.notices.keep(e) {
		b.Events = append(b.Events, e)
	}
}

// tellStored tells the views that are stored, and what waits behind them. It returns these views.
func (b *outbox) tellStored(stored func(record uint64) bool) (views []*view.View) {
	for _, h := range b.notices.release(stored) {
		views = append(views, h.view)
		b.Events = append(b.Events, h.events...)
	}
	b.Install = append(b.Install, views...)
	return views
}

// notices are the views that wait for the disk before the layers above hear of them, and what
// happened to members meanwhile.
//
// Nothing else waits for the disk: heartbeats, grants and the machine's own view go on while a
// record is written. So a slow disk costs no lease.
//
// What waits is bounded. All views that were decided meanwhile are kept for the replicators: a
// chain that lacks one may not settle. A disk that has not answered while heldMax views were
// decided counts as one that has failed: the node ends, as by a crash, and the others go on. Of a
// member only the last change of its reachability waits behind each view.
//
// Invariant: views has at most heldMax elements, oldest first, and none that is stored.
type notices struct{ views []heldView }

// heldView is a view that the layers above hear of when it is stored, with what happened to members
// since.
type heldView struct {
	record uint64
	view   *view.View
	events []Event
}

// isFull reports whether there is no room for one more view that waits for the disk.
func (n *notices) isFull() bool { return len(n.views) >= heldMax }

// hold has the layers above hear of an installed view when its record is stored.
func (n *notices) hold(v *view.View, number uint64) {
	n.views = append(n.views, heldView{record: number, view: v})
}

// release returns the views that are stored, oldest first, and holds them no more.
func (n *notices) release(stored func(record uint64) bool) (hs []heldView) {
	i := slices.IndexFunc(n.views, func(h heldView) bool { return !stored(h.record) })
	if i < 0 {
		i = len(n.views)
	}
	hs, n.views = n.views[:i:i], n.views[i:]
	return hs
}

// keep holds an event that concerns a member back, behind the last view that waits. It reports
// false if the event has to be told now.
func (n *notices) keep(e Event) bool {
	if len(n.views) == 0 {
		return false
	}
	last := &n.views[len(n.views)-1]
	switch e := e.(type) {
	case MemberJoined, MemberUp, MemberLeaving, MemberRemoved:
		last.events = append(last.events, e)
	case MemberUnreachable:
		last.reach(e.Member.UID, e)
	case MemberReachable:
		last.reach(e.Member.UID, e)
	default:
		return false
	}
	return true
}

// check verifies the invariant, and that the last view that waits is the installed one.
func (n *notices) check(installed *view.View, stored func(record uint64) bool) error {
	switch {
	case len(n.views) > heldMax:
		return fmt.Errorf("%d views wait for the disk", len(n.views))
	case len(n.views) > 0 && (stored(n.views[0].record) || n.views[len(n.views)-1].view != installed):
		return errors.New("a stored view is held back, or one that is not installed")
	}
	return nil
}

// reach notes the reachability of a member in place of what was noted of it before, because that
// was not told yet.
func (h *heldView) reach(u view.UID, e Event) {
	h.events = slices.DeleteFunc(h.events, func(x Event) bool {
		switch x := x.(type) {
		case MemberUnreachable:
			return x.Member.UID == u
		case MemberReachable:
			return x.Member.UID == u
		}
		return false
	})
	h.events = append(h.events, e)
}

// heldMax is how many installed views may wait for the disk; one more, and the node ends.
const heldMax = 256
