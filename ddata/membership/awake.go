package membership

import "time"

// countAwake keeps the time during which this process stood still out of what it gives up after: a
// step that comes long after its deadline shows that nothing ran here, and while nothing ran this
// node could neither hear the others nor ask them. A cluster whose nodes are all stopped together
// for long goes on when they are woken.
//
// It concerns patience alone. What others rely on, leases and promises, ends by the clocks, whether
// the process runs or not.
func (m *Machine) countAwake(now time.Time) {
	gap := now.Sub(m.nextAt)
	if gap < m.cfg.HeartbeatInterval {
		return // a busy machine: if it is always this late, it shall give up all the same
	}
	m.holder.Awake(gap)
	m.parting.Awake(gap)
	if m.view == nil {
		m.seeker.Awake(gap)
	}
}
