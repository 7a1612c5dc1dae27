package sequence

import (
	"fmt"
	"math"
	"strings"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Stream names the messages of one sender to one entity.
type Stream struct {
	From   uint64 // the process of the sender
	Type   int    // the entity type
	Entity protocol.EntityID
}

// Shard names a shard of an entity type.
type Shard struct {
	Type   int
	Number protocol.ShardID
}

// Cause is an event after which no order is promised of what was under way. Package sharding lists
// them under what it does not guarantee.
type Cause uint8

// The causes.
const (
	// Death: the home of the shard has died, or is no member any more.
	Death Cause = iota
	// Waiting: a shard that waited for its lease was handed off.
	Waiting
	// Lost: the shard has lost its lease.
	Lost
	// Forced: the region was closed by force.
	Forced
	// Causes is how many there are.
	Causes
)

var causeNames = [Causes]string{"death", "waiting", "lost", "forced"}

func (c Cause) String() string { return causeNames[c] }

// Excuses count the messages that were handled too late and had an excuse, by cause.
type Excuses [Causes]uint64

func (x Excuses) String() string {
	var b strings.Builder
	for c, n := range x {
		if n > 0 {
			fmt.Fprintf(&b, "%v:%d ", Cause(c), n)
		}
	}
	return "[" + strings.TrimSuffix(b.String(), " ") + "]"
}

// Add sums the counts of runs.
func (x *Excuses) Add(o Excuses) {
	for c, n := range o {
		x[c] += n
	}
}

// lasts reports whether a cause goes on until every region knows of a later home. The others end the
// order of what is under way at one instant.
func (c Cause) lasts() bool { return c == Lost || c == Forced }

// disorder is a span of time. What is sent before its end has no order.
type disorder struct {
	until int64          // 0: there was none; math.MaxInt64: it goes on
	token protocol.Token // of the home that the shard had
}

// Judge holds what is handled to the order of its senders. The zero value has seen nothing.
type Judge struct {
	last    map[Stream]uint64 // the highest number that was handled
	broken  map[Shard][Causes]disorder
	regions map[place]*Region // that run
	// Excused counts what was handled too late.
	Excused Excuses
}

// place is a process and an entity type.
type place struct {
	process uint64
	typ     int
}

// Handle notes that a message is handled, and returns the highest number of its Stream that was
// handled before. It reports whether the message has kept its order, or has an excuse.
func (j *Judge) Handle(k Stream, s Shard, number uint64, sent int64) (last uint64, ok bool) {
	if j.last == nil {
		j.last = map[Stream]uint64{}
	}
	last = j.last[k]
	if number > last {
		j.last[k] = number
		return last, true
	}
	for why, d := range j.broken[s] {
		if d.until >= sent {
			j.Excused[why]++
			return last, true
		}
	}
	return last, false
}

// breaks notes a cause. Times are those of the world, and above zero.
func (j *Judge) breaks(s Shard, why Cause, token protocol.Token, now int64) {
	if j.broken == nil {
		j.broken = map[Shard][Causes]disorder{}
	}
	all := j.broken[s]
	all[why] = disorder{until: now, token: token}
	if why.lasts() && j.lags(s, token) {
		all[why].until = math.MaxInt64
	}
	j.broken[s] = all
}

// routed notes that a route to a shard has changed: a disorder ends with the last region that still
// sends to the home before. It begins anew with one that does so only now, because it has heard of
// that home late: what other regions have sent to it meanwhile goes there, too.
func (j *Judge) routed(s Shard, now int64) {
	all, is := j.broken[s]
	if !is {
		return
	}
	for why := range all {
		switch d := &all[why]; {
		case !Cause(why).lasts() || d.until == 0:
		case j.lags(s, d.token):
			d.until = math.MaxInt64
		case d.until == math.MaxInt64:
			d.until = now
		}
	}
	j.broken[s] = all
}

// lags reports whether a region still sends to the home of a token, or to one before.
func (j *Judge) lags(s Shard, token protocol.Token) bool {
	for at, r := range j.regions { // order: any of them
		if at.typ == s.Type && r.lags(s.Number, token) {
			return true
		}
	}
	return false
}
