package thousand

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
)

// part says what processor time was spent on.
type part uint8

const (
	playing part = iota // the play itself; no node's
	membershipPart
	usersPart
	reservedPart
	coordinatorPart
	regionPart
	shardPart
	planePart // of sharding, outside of its machines: routes, mailboxes, loops
	parts
)

var partNames = [parts]string{"play", "membership", "users_data", "reserved_data", "coordinator", "region", "shard",
	"data_plane"}

// meter adds up the processor time of nodes and parts. All happens on one flow of control, so the
// time that passes belongs to one part at a time. That is the time of a thread. The scheduler of Go
// moves the flow to another one now and then: the time between two looks is that of the clock then.
type meter struct {
	node  *node
	part  part
	base  time.Time
	wall  time.Duration // at the last look
	cpu   time.Duration // of the thread when it was last asked
	since time.Duration // that was counted after that
	last  time.Duration // the sum of all time until the last look
	play  time.Duration // of no node
	most  [parts]step   // the longest
	slow  [parts]int    // longer than stepMax
	by    [parts]map[string]*spent
}

// spent is what the steps by one kind of input have taken.
type spent struct {
	steps int
	took  time.Duration
}

// stepMax is how long a step of a machine may take.
const stepMax = 5 * time.Millisecond

// step is one step of a machine.
type step struct {
	took time.Duration
	in   string
}

// briefMax is how long a look at the clock is believed. Another process that takes the processor keeps it for longer.
const briefMax = 50 * time.Microsecond

// now is the processor time until now. To ask the thread costs more than most steps do, so it is asked only where
// something else may have had the processor.
func (m *meter) now() time.Duration {
	wall := time.Since(m.base)
	passed := wall - m.wall
	m.wall = wall
	if passed < briefMax {
		m.since += passed
		return m.last + passed
	}
	cpu := threadTime()
	if used := cpu - m.cpu - m.since; cpu > 0 && used >= 0 && used < passed {
		passed = used
	}
	m.cpu, m.since = cpu, 0
	return m.last + passed
}

// enter has the time from now on count for a part of a node. It returns what the time counted for
// before.
func (m *meter) enter(n *node, p part) (*node, part) {
	now := m.now()
	if m.node == nil {
		m.play += now - m.last
	} else {
		m.node.slot.spent[m.part] += now - m.last
	}
	m.last = now
	n, m.node = m.node, n
	p, m.part = m.part, p
	return n, p
}

// within counts the time of fn for a part of a node.
func (m *meter) within(n *node, p part, fn func()) {
	wasNode, wasPart := m.enter(n, p)
	fn()
	m.enter(wasNode, wasPart)
}

// step counts the time of a step of a machine.
func (m *meter) step(n *node, p part, in any, fn func()) {
	wasNode, wasPart := m.enter(n, p)
	began := m.last
	fn()
	m.enter(wasNode, wasPart)
	m.note(p, m.last-began, in)
}

func (m *meter) note(p part, took time.Duration, in any) {
	name := inputName(in)
	if took > stepMax {
		m.slow[p]++
	}
	if took > m.most[p].took {
		m.most[p] = step{took, name}
	}
	s := m.by[p][name]
	if s == nil {
		s = &spent{}
		m.by[p][name] = s
	}
	s.steps++
	s.took += took
}

// begin forgets the steps so far.
func (m *meter) begin() {
	m.most, m.slow = [parts]step{}, [parts]int{}
	for p := range m.by {
		m.by[p] = map[string]*spent{}
	}
}

// heaviest are the kinds of inputs whose steps took most together.
func (m *meter) heaviest(p part) []string {
	names := slices.Collect(maps.Keys(m.by[p]))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(m.by[p][b].took, m.by[p][a].took), strings.Compare(a, b))
	})
	return names[:min(heaviestMost, len(names))]
}

const heaviestMost = 3

// inputName tells an input by its type, and a message that it brings by that.
func inputName(in any) string {
	switch r := in.(type) {
	case protocol.Receive:
		in = r.Msg
	case *replicator.Receive:
		in = r.Msg
	case replicator.Decoded:
		in = r.Msg
	case membership.Receive:
		in = r.Msg
	}
	return reflect.TypeOf(in).String()
}

// partOf is the part of a machine of sharding.
func partOf(m control.Machine) part {
	switch m.(type) {
	case *coordinator.Coordinator:
		return coordinatorPart
	case *region.Region:
		return regionPart
	}
	return shardPart
}

// traffic is what a slot has sent and received.
type traffic struct{ messages, bytes, received int }

// tally is what all slots have used and sent up to a moment.
type tally struct {
	at    int64
	spent [][parts]time.Duration // by slot
	sent  []traffic
	kinds map[string]traffic // by what was sent
}

func (w *world) tally() tally {
	t := tally{at: w.now, kinds: map[string]traffic{}}
	for _, s := range w.slots {
		t.spent, t.sent = append(t.spent, s.spent), append(t.sent, s.sent)
	}
	for k, v := range w.kinds { // order: into a map
		t.kinds[k] = *v
	}
	return t
}

// sumOf adds the parts.
func sumOf(spent [parts]time.Duration) (sum time.Duration) {
	for _, d := range spent {
		sum += d
	}
	return sum
}

// kindsByBytes are the kinds of messages since a tally, the heaviest first.
func (w *world) kindsByBytes(since tally) (names []string, of map[string]traffic) {
	of = map[string]traffic{}
	for k, v := range w.kinds { // order: sorted below
		was := since.kinds[k]
		if d := (traffic{messages: v.messages - was.messages, bytes: v.bytes - was.bytes}); d.messages > 0 {
			of[k] = d
			names = append(names, k)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return of[b].bytes - of[a].bytes })
	return names, of
}
