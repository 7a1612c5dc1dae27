package control

import (
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Input is one input of the control loop: for the Region machine, for the Shard machine of s, or
// a function to run.
type Input struct {
	Region protocol.RegionInput
	shard  protocol.ShardInput
	s      *entities.Shard
	do     func(c *Plane, now time.Time)
	from   runloop.Permit // of another node's message
}

// inboxMax is how many hints may wait for a loop.
const inboxMax = 1 << 16

// inbox takes what the data plane and other goroutines tell the control loop. It does not wait.
type inbox struct {
	typ    string // the entity type's name
	log    *slog.Logger
	loop   runloop.Loop[Input]
	mail   *machineMail
	admin  *runloop.Admission // of what other nodes want of single entities
	asides *asides
}

var _ dataplane.Controller = (*inbox)(nil)

func (b *inbox) put(in Input)                                      { b.loop.Force(in) }
func (b *inbox) ToRegion(in protocol.RegionInput)                  { b.put(Input{Region: in}) }
func (b *inbox) toShard(s *entities.Shard, in protocol.ShardInput) { b.put(Input{s: s, shard: in}) }

// Do has fn called in the control loop.
func (b *inbox) Do(fn func(c *Plane, now time.Time)) { b.put(Input{do: fn}) }

// Wanted implements controller.
func (b *inbox) Wanted(shard uint32) {
	b.Do(func(c *Plane, now time.Time) {
		c.toRegion(protocol.Wanted{Shard: protocol.ShardID(shard)})
		c.unhosted.wanted(now)
	})
}

// FlushLater implements controller.
func (b *inbox) FlushLater(shard uint32) {
	b.Do(func(c *Plane, now time.Time) { c.Retries.later(now, shard) })
}

// Misrouted implements controller. It is a hint that comes once per message, so it may be lost.
func (b *inbox) Misrouted(from uint64, shard uint32) {
	b.loop.Post(Input{Region: protocol.Misrouted{From: protocol.UID(from), Shard: protocol.ShardID(shard)}})
}

// Wake implements controller.
func (b *inbox) Wake(s *entities.Shard, id string) {
	b.toShard(s, protocol.Wake{ID: protocol.EntityID(id)})
}

// Passivate implements controller.
func (b *inbox) Passivate(s *entities.Shard, id string, why protocol.Cause, place runloop.Permit) {
	b.put(Input{s: s, shard: protocol.Passivate{ID: protocol.EntityID(id), Cause: why}, from: place})
}

// Admit implements controller.
func (b *inbox) Admit(from uint64, bytes int) (runloop.Permit, bool) {
	return b.admin.Admit(from, bytes)
}

// Reshare implements controller.
func (b *inbox) Reshare() {
	b.Do(func(c *Plane, _ time.Time) { c.Hosted.unshared = true })
}

// EntityStopped implements controller.
func (b *inbox) EntityStopped(s *entities.Shard, id string) {
	b.toShard(s, protocol.EntityStopped{ID: protocol.EntityID(id)})
}

// StartEntity implements controller.
func (b *inbox) StartEntity(s *entities.Shard, id string, env mailbox.Envelope, place runloop.Permit) {
	b.put(Input{from: place, do: func(c *Plane, _ time.Time) { c.StartEntity(s, id, env) }})
}

// Receive implements controller.
func (b *inbox) Receive(from uint64, m protocol.Message, bytes int) { b.mail.receive(from, m, bytes) }

// Note implements controller.
func (b *inbox) Note(e protocol.Event) {
	b.Do(func(c *Plane, _ time.Time) { c.Notices.notify(e) })
}

// Aside implements controller.
func (b *inbox) Aside(fn func()) (runs bool) { return b.asides.run(fn) }

// Rejected implements controller.
func (b *inbox) Rejected(from uint64, err error) {
	b.log.Debug("sharding message rejected", "type", b.typ, "from", protocol.UID(from), "error", err)
}

// machineMail carries the messages between the machines of this node and those of others.
type machineMail struct {
	typ  string // the entity type's name
	log  *slog.Logger
	self uint64
	out  *dataplane.Outbox

	region, coordinator mailbag
}

// mailbag takes the messages for one machine of this node.
type mailbag struct {
	admission *runloop.Admission // of the messages of other nodes
	put       func(protocol.Receive, runloop.Permit)
}

// to is the machine that a message is for. Without a coordinator its messages count as the
// region's, which drops them.
func (x *machineMail) to(m protocol.Message) *mailbag {
	if m.ToCoordinator() && x.coordinator.put != nil {
		return &x.coordinator
	}
	return &x.region
}

// send puts a message on the control lane. What does not fit is lost: the machines repeat what is
// not answered.
func (x *machineMail) send(e protocol.Envelope) {
	if uint64(e.To) == x.self {
		x.deliver(e.To, e.Msg, runloop.Permit{})
		return
	}
	if err := x.out.SendControl(e.To, transport.Control, 0, dataplane.AppendQuestion(nil, e.Msg)); err != nil {
		x.log.Debug("sharding message not sent", "type", x.typ, "to", e.To, "message", e.Msg.String(), "error", err)
	}
}

// receive takes a message of another node. What finds no place is lost: the machines repeat what is
// not answered.
func (x *machineMail) receive(from uint64, m protocol.Message, bytes int) {
	if place, ok := x.to(m).admission.Admit(from, bytes); ok {
		x.deliver(protocol.UID(from), m, place)
	}
}

// deliver hands a message to the machine that it is for.
func (x *machineMail) deliver(from protocol.UID, m protocol.Message, place runloop.Permit) {
	if m.ToCoordinator() && x.coordinator.put == nil {
		place.Release()
		return
	}
	x.to(m).put(protocol.Receive{From: from, Msg: m}, place)
}

// newAdmission bounds what other nodes have waiting in front of one machine.
func newAdmission(r *dataplane.Plane) *runloop.Admission {
	member := func(node uint64) bool {
		v := r.Cluster.View()
		return v != nil && v.Has(view.UID(node))
	}
	return runloop.NewAdmission(member, func() { r.Drops.Drop(failure.DropInbox, failure.NoShard, "", nil) })
}
