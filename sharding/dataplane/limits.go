package dataplane

import (
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/sharding/dataplane/pool"
)

// Limits bound what the region of a type holds on one node.
type Limits struct {
	// MailboxMax is the number of messages that wait in one mailbox. A worker takes all that waits
	// at once, and as many can come while it works, so a mailbox holds up to twice as many. Default
	// 100,000.
	MailboxMax int
	// MailboxBytes bounds the messages of other nodes that wait in one mailbox or are being
	// handled, in bytes as encoded, each with 128 more. A mailbox that holds none takes one of any
	// size. What finds no room is dropped with DropMailboxBytes, and an asker gets ErrBufferFull at
	// once: a connection that waited for one entity would hold up all others. More lets bursts to
	// one entity through and costs memory. Default 32 MiB, at most 1 GiB.
	MailboxBytes int
	// RegionBytes bounds the same in all mailboxes of this region; the drop is DropRegionFull.
	// LimitMailboxes bounds all regions of a node. Default 256 MiB.
	RegionBytes int
	// BufferMax is the number of messages that wait in this region for homes that are unknown or
	// moving. Default 100,000.
	BufferMax int
	// BufferBytes bounds the same by size, counting messages from other nodes as encoded. Default
	// 64 MiB.
	BufferBytes int
	// AsksMax is the number of this region's questions under way. Default 65,536, at most 16 Mi.
	AsksMax int
	// Workers is the number of handlers that run at one time while none of them blocks. Default
	// GOMAXPROCS.
	Workers int
	// WorkersMax bounds the goroutines when handlers block. Default 10,000.
	WorkersMax int
}

// WithDefaults is l with the default in place of each zero field.
func (l Limits) WithDefaults() Limits {
	config.Default(&l.MailboxMax, 100_000)
	config.Default(&l.MailboxBytes, 32<<20)
	config.Default(&l.RegionBytes, 256<<20)
	config.Default(&l.BufferMax, 100_000)
	config.Default(&l.BufferBytes, 64<<20)
	config.Default(&l.AsksMax, 1<<16)
	config.Default(&l.WorkersMax, 10_000)
	return l
}

// mailboxBytesMost is the highest MailboxBytes.
const mailboxBytesMost = 1 << 30

// Check adds what is wrong.
func (l Limits) Check(f *config.Faults) {
	l = l.WithDefaults()
	f.Add(l.MailboxMax < 1, "Limits.MailboxMax", "%d is not positive", l.MailboxMax)
	f.Add(l.MailboxBytes < 1 || l.MailboxBytes > mailboxBytesMost, "Limits.MailboxBytes", "is %d, want 1 to %d",
		l.MailboxBytes, mailboxBytesMost)
	f.Add(l.RegionBytes < 1, "Limits.RegionBytes", "%d is not positive", l.RegionBytes)
	f.Add(l.BufferMax < 1, "Limits.BufferMax", "%d is not positive", l.BufferMax)
	f.Add(l.BufferBytes < 1, "Limits.BufferBytes", "%d is not positive", l.BufferBytes)
	f.Add(l.AsksMax < 1 || l.AsksMax > 16<<20, "Limits.AsksMax", "is %d, want 1 to 16 Mi", l.AsksMax)
	f.Add(l.Workers < 0, "Limits.Workers", "%d is negative", l.Workers)
	f.Add(l.WorkersMax < 1 || l.WorkersMax < l.Workers, "Limits.WorkersMax", "%d is not positive or below Workers %d",
		l.WorkersMax, l.Workers)
}

// Timeouts are how long a region waits for answers.
type Timeouts struct {
	// Ask bounds an Ask whose context has no deadline. Default 10 s.
	Ask time.Duration
	// Query is how long one node is waited for that was asked for what runs there (Region.State,
	// Region.ClusterStats …), if the context allows as much. Default 3 s.
	Query time.Duration
	// HandlerSlow: a handler that has run for so long is told of by the alarm protocol.HandlerSlow,
	// with its entity, its age and its stack; again whenever its age has doubled. The stacks of all
	// goroutines are read for that, which stops the process for some milliseconds. A handler that
	// has waited for a result (Context.Await) for so long is told of by protocol.ResultAwaited.
	// Default 5 s, 1 ms at least; negative: never.
	HandlerSlow time.Duration
}

// WithDefaults is t with the default in place of each zero field.
func (t Timeouts) WithDefaults() Timeouts {
	config.Default(&t.Ask, 10*time.Second)
	config.Default(&t.Query, 3*time.Second)
	config.Default(&t.HandlerSlow, 5*time.Second)
	return t
}

// Check adds what is wrong.
func (t Timeouts) Check(f *config.Faults) {
	t = t.WithDefaults()
	f.Add(t.Ask < 0, "Timeouts.Ask", "%v is negative", t.Ask)
	f.Add(t.Query < 0, "Timeouts.Query", "%v is negative", t.Query)
	f.Add(t.HandlerSlow > 0 && t.HandlerSlow < pool.SlowLeast, "Timeouts.HandlerSlow", "%v is below %v",
		t.HandlerSlow, pool.SlowLeast)
}
