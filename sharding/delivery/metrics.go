package delivery

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// The metrics of producers and consumers; the table in design.md explains them.
var (
	mUnconfirmed = ofProducer("coterie_delivery_unconfirmed_messages",
		"Messages that the producer holds.", events.Gauge)
	mBytes  = ofProducer("coterie_delivery_unconfirmed_bytes", "What they take of BufferBytes.", events.Gauge)
	mSent   = ofProducer("coterie_delivery_sent_total", "Messages that were sent, each time.", events.Counter)
	mResent = ofProducer("coterie_delivery_resent_total",
		"Of these, those that had been sent before.", events.Counter)
	mConfirmed = ofProducer("coterie_delivery_confirmed_total",
		"Messages that entities have confirmed.", events.Counter)
	mWindowFull = ofProducer("coterie_delivery_window_full_total",
		"Messages that had to wait because their entity's window was full.", events.Counter)
	mBufferFull = ofProducer("coterie_delivery_buffer_full_total",
		"Calls that had to wait because the producer held all that it may.", events.Counter)
	mUnstored = ofProducer("coterie_delivery_queue_failures_total",
		"Batches that the Queue has failed to store.", events.Counter)

	mDuplicates = ofConsumers("coterie_delivery_duplicates_total",
		"Messages that had come before and were not handled again.")
	mFailed  = ofConsumers("coterie_delivery_failed_total", "Deliveries that handlers have not confirmed.")
	mRefused = ofConsumers("coterie_delivery_refused_total", "Messages for which an entity had no room.")
)

func ofProducer(name, help string, kind events.Kind) *events.Metric {
	return &events.Metric{Name: name, Help: help, Kind: kind, Labels: []string{"type", "producer"}}
}

func ofConsumers(name, help string) *events.Metric {
	return events.NewCounter(name, help, "type")
}

// report tells a Meter of a producer.
func (s *sender) report(report func(*events.Metric, float64, ...string)) {
	count, bytes, waits := s.room.look()
	s.mu.Lock()
	st := s.stats
	s.mu.Unlock()
	say := func(m *events.Metric, v float64) { report(m, v, s.typ, s.cfg.ID) }
	say(mUnconfirmed, float64(count))
	say(mBytes, float64(bytes))
	say(mSent, float64(st.Sent))
	say(mResent, float64(st.Resent))
	say(mConfirmed, float64(st.Confirmed))
	say(mWindowFull, float64(st.WindowFull))
	say(mBufferFull, float64(waits))
	say(mUnstored, float64(s.unstored.Load()))
}

// intake is what the consumers of one region share: their node, and what they count together.
type intake struct {
	node                        scheduler.Scheduler
	watch                       func(Step) // nil: nothing looks; set before anything is delivered
	duplicates, failed, refused atomic.Uint64
}

type intakeKey struct{}

// intakeOf finds the one of a region.
func intakeOf[M any](g *sharding.Region[M]) *intake {
	return g.Attach(intakeKey{}, func() any {
		n := &intake{node: sharding.SchedulerOf(g)}
		g.ReadMetrics(func(report func(*events.Metric, float64, ...string)) {
			report(mDuplicates, float64(n.duplicates.Load()), g.Name())
			report(mFailed, float64(n.failed.Load()), g.Name())
			report(mRefused, float64(n.refused.Load()), g.Name())
		})
		return n
	}).(*intake)
}

// add counts what a consumer has counted between two looks. Most often that is nothing: no line of
// the cache is written to for a message that is new.
func (n *intake) add(before, after protocol.ConsumerStats) {
	for _, c := range [...]struct {
		all  *atomic.Uint64
		more uint64
	}{
		{&n.duplicates, after.Duplicates - before.Duplicates}, {&n.failed, after.Failed - before.Failed},
		{&n.refused, after.Refused - before.Refused},
	} {
		if c.more > 0 {
			c.all.Add(c.more)
		}
	}
}
