package entities

import (
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// idleScan passivates the entities that saw no message for long. A message costs a worker no look
// at the clock: it notes the number of the scan.
type idleScan struct {
	interval time.Duration // 0: it never looks
	Tick     atomic.Uint32 // counts the looks
	most     uint32        // an entity that saw no message for more intervals is idle
	alarm    *scheduler.Alarm
}

// newIdleScan makes a scan that passivates what saw no message for the time-out, or at most an
// interval longer.
func newIdleScan(s passivation.Strategy, shards func() []*Shard, clock scheduler.Clock) *idleScan {
	w := &idleScan{}
	if s.IdleTimeout <= 0 {
		return w
	}
	w.interval, w.most = s.IdleInterval, uint32((s.IdleTimeout+s.IdleInterval-1)/s.IdleInterval)
	w.alarm = scheduler.NewAlarm(clock, w.interval, func() {
		tick := w.Tick.Add(1)
		for _, s := range shards() {
			s.passivateIdle(tick, w.most)
		}
		w.alarm.Arm()
	})
	return w
}

// Looks reports whether it looks for idle entities.
func (w *idleScan) Looks() bool { return w.alarm != nil }

// Idle is how long ago an entity has handled a message, in whole intervals.
func (w *idleScan) Idle(e *Entity) time.Duration {
	return time.Duration(e.mark.unseen(w.Tick.Load())) * w.interval
}

func (w *idleScan) start() {
	if w.alarm != nil {
		w.alarm.Arm()
	}
}

func (w *idleScan) stop() {
	if w.alarm != nil {
		w.alarm.Stop()
	}
}

// passivateIdle passivates what has not handled a message for long enough.
func (s *Shard) passivateIdle(tick, most uint32) {
	d := s.runtime.set.Defects
	if d.Planted(defect.SoonIdle) {
		most = 0
	}
	var idle []string
	s.Mu.RLock()
	for e := range s.Entities.all() {
		if e.mark.unseen(tick) > most && e.State().IsIdle() && !d.Planted(defect.NeverIdle) {
			idle = append(idle, e.ID)
		}
	}
	s.Mu.RUnlock()
	for _, id := range idle {
		s.Passivate(id, protocol.CauseIdle)
	}
}
